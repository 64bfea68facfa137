"""Environment variables as the kubelet makes them: references, ConfigMaps, Secrets, the downward API."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import ConfigMap, Pod, Secret
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.kubelet.pods.environment import expand, expanded, make_environment_variables
from kitlib.kubelet.pods.objects import Objects, Reference, references

FOUND = {
    Reference("ConfigMap", "default", "cm"): ConfigMap(data={"a": "1", "b": "2", "x=y": "3"}),
    Reference("Secret", "default", "s"): Secret(data={"password": b"hunter2"}),
}
ALLOCATABLE = {"cpu": 3500, "memory": 2**30 * 1000}


def pod(**container: Any) -> Pod:
    resources = {"limits": {"memory": "100Mi"}, "requests": {"cpu": "250m", "memory": "64Mi"}}
    made = {"name": "c", "image": "x", "resources": resources, **container}
    meta = {"name": "web", "namespace": "default", "uid": "u1", "labels": {"b": "2", "app": 'we"b'}}
    return from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [made]}}, Pod)


def variables(**container: Any) -> dict[str, str]:
    made = pod(**container)
    return make_environment_variables(made, made.spec.containers[0], Objects(FOUND.get), ALLOCATABLE).values


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$(A)-$(B)", "1-$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A $", "$A $"),
        ("$(A", "$(A"),
        ("x$(A)y$(A)", "x1y1"),
    ],
)
def test_a_reference_is_replaced_where_it_is_known(text: str, wanted: str) -> None:
    assert expand(text, {"A": "1"}) == wanted


def test_later_variables_see_earlier_ones_and_env_wins_over_env_from() -> None:
    env = [{"name": "a", "value": "9"}, {"name": "C", "value": "$(a)$(P_b)$(D)"}, {"name": "D", "value": "d"}]
    source = [{"configMapRef": {"name": "cm"}}, {"prefix": "P_", "configMapRef": {"name": "cm"}}]
    made = variables(env=env, envFrom=source)
    assert (made["a"], made["b"], made["P_a"], made["C"]) == ("9", "2", "1", "92$(D)")
    assert "x=y" not in made


def test_keys_that_are_no_names_are_skipped_and_told() -> None:
    made = pod(envFrom=[{"configMapRef": {"name": "cm"}}])
    found = make_environment_variables(made, made.spec.containers[0], Objects(FOUND.get), ALLOCATABLE)
    assert found.skipped == {"ConfigMap default/cm": ["x=y"]}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ({"configMapKeyRef": {"name": "cm", "key": "a"}}, "1"),
        ({"secretKeyRef": {"name": "s", "key": "password"}}, "hunter2"),
        ({"configMapKeyRef": {"name": "none", "key": "a", "optional": True}}, None),
        ({"secretKeyRef": {"name": "s", "key": "none", "optional": True}}, None),
        ({"fieldRef": {"fieldPath": "metadata.name"}}, "web"),
        ({"fieldRef": {"fieldPath": "metadata.labels['b']"}}, "2"),
        ({"fieldRef": {"fieldPath": "metadata.labels"}}, 'app="we\\"b"\nb="2"'),
        ({"resourceFieldRef": {"resource": "requests.cpu"}}, "1"),
        ({"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1m"}}, "250"),
        ({"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}, "100"),
        ({"resourceFieldRef": {"resource": "limits.memory", "divisor": "60Mi"}}, "2"),
        ({"resourceFieldRef": {"resource": "limits.cpu"}}, "4"),
        ({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}, "3500"),
    ],
)
def test_a_value_comes_from_its_source(source: dict[str, Any], value: str | None) -> None:
    assert variables(env=[{"name": "V", "valueFrom": source}]).get("V") == value


@pytest.mark.parametrize(
    ("container", "words"),
    [
        (
            {"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "no", "key": "a"}}}]},
            'configmap "no" not found',
        ),
        ({"envFrom": [{"secretRef": {"name": "no"}}]}, 'secret "no" not found'),
        (
            {"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "no"}}}]},
            "couldn't find key no in ConfigMap default/cm",
        ),
        ({"env": [{"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]}, "unsupported fieldPath: spec.x"),
    ],
)
def test_what_is_missing_is_said_in_the_kubelets_words(container: dict[str, Any], words: str) -> None:
    with pytest.raises(KitError) as caught:
        variables(**container)
    assert str(caught.value) == words


DOUBLING = [{"name": "v0", "value": "x" * 10}, *({"name": f"v{n}", "value": f"$(v{n - 1})" * 2} for n in range(1, 60))]


@pytest.mark.parametrize(
    ("env", "args"),
    [
        (DOUBLING, []),
        ([{"name": f"v{n}", "value": "x" * 100_000} for n in range(30)], []),
        ([{"name": "v", "value": "x" * 1000}], ["$(v)" * 100_000]),
        ([{"name": "v", "value": "x" * 1000}], ["$(v)"] * 100_000),
    ],
    ids=["each doubles the one before", "all together", "one argument", "all arguments"],
)
def test_references_make_no_more_than_a_program_can_be_given(env: list[dict[str, str]], args: list[str]) -> None:
    made = pod(env=env, args=args).spec.containers[0]
    with pytest.raises(KitError, match="argument list too long"):
        expanded(made, variables(env=env))


def test_the_command_sees_the_variables() -> None:
    container = pod(command=["run", "$(A)"], args=["$(A)$(B)"]).spec.containers[0]
    made = expanded(container, {"A": "1"})
    assert (made.command, made.args) == (["run", "1"], ["1$(B)"])


def test_a_pod_refers_to_the_objects_that_it_names() -> None:
    made = pod(envFrom=[{"secretRef": {"name": "s"}}])
    volume = {"name": "v", "projected": {"sources": [{"configMap": {"name": "cm"}}, {"secret": {"name": "t"}}]}}
    made.spec.volumes = from_dict(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"volumes": [volume]}}, Pod
    ).spec.volumes
    assert {f"{one.kind}/{one.name}" for one in references(made)} == {"Secret/s", "ConfigMap/cm", "Secret/t"}
