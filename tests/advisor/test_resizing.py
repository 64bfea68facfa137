"""In-place resizes on a copy of a cluster: the notation, the API server's refusals, the kubelet's verdict."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.advisor.dump import Dump
from kitlib.advisor.resizing import parse_amounts
from kitlib.advisor.what_if import WhatIf, what_if
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from kitlib.kubelet.config.settings import KubeletSettings
from tests.advisor.dumps import dump, node


def box(name: str, cpu: str = "1", limit: str = "", **more: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    own |= {"limits": {"cpu": limit, "memory": "1Gi"}} if limit else {}
    return {"name": name, "image": "i", "resources": own, **more}


def pod(*containers: dict[str, Any], on: str = "n1", name: str = "p", **more: Any) -> dict[str, Any]:
    spec = {"containers": list(containers), **({"nodeName": on} if on else {}), **more.get("spec", {})}
    meta = {"name": name, "namespace": "default", "uid": name, **more.get("meta", {})}
    status = {"phase": "Running" if on else "Pending", **more.get("status", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


SIDECAR = box("log", restartPolicy="Always")
INIT = box("setup")


def two(**more: Any) -> Dump:
    spec = {"initContainers": [INIT, SIDECAR]}
    return dump(node("n1", cpu="8"), pod(box("app"), box("web"), spec=spec, **more))


def kinds(answer: WhatIf) -> list[str]:
    return [one.kind for one in answer.effects]


@pytest.mark.parametrize(
    ("words", "containers"),
    [
        (["cpu=2"], {"app": {"requests": {"cpu": "2"}}}),
        (["web:cpu=2"], {"web": {"requests": {"cpu": "2"}}}),
        (
            ["app:cpu=2", "log:memory=2Gi", "log:cpu=3"],
            {"app": {"requests": {"cpu": "2"}}, "log": {"requests": {"memory": "2Gi", "cpu": "3"}}},
        ),
        (["web:limits.cpu=2"], {"web": {"limits": {"cpu": "2"}}}),
        (["web:requests.cpu=2"], {"web": {"requests": {"cpu": "2"}}}),
    ],
    ids=" ".join,
)
def test_amounts_name_their_container(words: list[str], containers: dict[str, Any]) -> None:
    found = parse_amounts(two().pods[0], words)
    wanted = {n: {k: {r: Quantity(q) for r, q in v.items()} for k, v in own.items()} for n, own in containers.items()}
    assert found == (wanted, {})


def test_without_a_name_the_container_is_the_one_that_kubectl_uses() -> None:
    meta = {"annotations": {"kubectl.kubernetes.io/default-container": "web"}}
    assert list(parse_amounts(two(meta=meta).pods[0], ["cpu=2"]).containers) == ["web"]


def test_a_request_above_the_limit_raises_the_limit_unless_it_is_given() -> None:
    one = dump(node("n1"), pod(box("app", limit="1"))).pods[0]
    assert parse_amounts(one, ["cpu=2"]).containers["app"]["limits"] == {"cpu": Quantity("2")}
    assert "limits" not in parse_amounts(one, ["cpu=500m"]).containers["app"]
    both = parse_amounts(one, ["cpu=2", "limits.cpu=3"])
    assert both.containers["app"]["limits"] == {"cpu": Quantity("3")}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("db:cpu=2", "has no container 'db'; valid values: setup, log, app, web, pod"),
        ("cpu", "must have the form"),
        ("gpu=1", "must have the form"),
        ("max.cpu=1", "must have the form"),
        ("cpu=much", "cpu=much"),
    ],
)
def test_an_invalid_amount_is_refused_with_the_notation(word: str, said: str) -> None:
    with pytest.raises(KitError, match=said):
        what_if(two(), [f"resize p {word}"])


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("web:cpu=2", "resized"),
        ("app:cpu=3 web:cpu=3", "resized"),
        ("log:cpu=2", "resized"),
        ("log:cpu=2 app:cpu=3 web:cpu=4", ""),
    ],
)
def test_the_whole_pod_is_compared_with_the_room_of_its_node(words: str, kind: str) -> None:
    answer = what_if(two(), [f"resize p {words}"])
    assert kinds(answer) == ([kind] if kind else []), "9 CPUs asked of a node with 8 are refused by the API server"
    assert bool(answer.refused) is not bool(kind)


def test_an_init_container_that_ends_is_resized_where_the_node_can() -> None:
    answer = what_if(two(), ["resize p setup:cpu=2"])
    assert answer.exit_code == 1 and "InPlacePodVerticalScalingInitContainers" in answer.sentence
    able = {"declaredFeatures": ["InPlacePodVerticalScalingInitContainers"]}
    found = dump(node("n1", cpu="8", status=able), pod(box("app"), spec={"initContainers": [INIT]}))
    assert kinds(what_if(found, ["resize p setup:cpu=2"])) == ["resized"]


def test_the_resources_of_the_whole_pod_are_resized() -> None:
    whole = {"spec": {"resources": {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"cpu": "2"}}}}
    able = {"declaredFeatures": ["InPlacePodLevelResourcesVerticalScaling"]}
    found = dump(node("n1", cpu="8", status=able), pod(box("app"), **whole))
    answer = what_if(found, ["resize p pod:cpu=4"])
    assert kinds(answer) == ["resized"], answer.sentence
    assert answer.nodes[0].after["default/p"]["cpu"] == 4000


def test_a_later_question_counts_the_new_amounts() -> None:
    found = dump(node("n1"), pod(box("a"), name="a"), pod(box("b"), name="b"))
    assert kinds(what_if(found, ["resize a cpu=3", "resize b cpu=2"])) == ["resized", "deferred"]
    assert kinds(what_if(found, ["resize a cpu=3", "resize a cpu=1", "resize b cpu=2"])) == ["resized"] * 3
    waits = dump(node("n1"), pod(box("a", cpu="3"), name="a"), pod(box("w", cpu="2"), name="w", on=""))
    assert kinds(what_if(waits, ["resize a cpu=2"])) == ["resized", "placed"]


def test_a_pod_without_a_node_gets_one_with_smaller_requests() -> None:
    found = dump(node("n1"), pod(box("a", cpu="3"), name="a"), pod(box("w", cpu="2"), name="w", on=""))
    (effect,) = what_if(found, ["resize w cpu=1"]).effects
    assert (effect.kind, effect.after) == ("placed", "n1")
    assert kinds(what_if(found, ["resize w cpu=1500m"])) == ["pending"]


def test_a_static_policy_makes_the_resize_of_a_guaranteed_pod_infeasible() -> None:
    found = dump(node("n1"), pod(box("app", limit="1")))
    unknown = what_if(found, ["resize p cpu=2"])
    assert kinds(unknown) == ["resized"] and unknown.exit_code == 3
    assert [(one.kind, one.field) for one in unknown.gaps] == [("KubeletConfiguration", "cpuManagerPolicy")]
    none = what_if(found, ["resize p cpu=2"], settings=KubeletSettings())
    assert kinds(none) == ["resized"] and none.exit_code == 0
    static = what_if(found, ["resize p cpu=2"], settings=KubeletSettings(cpu_manager_policy="static"))
    assert kinds(static) == ["infeasible"] and 'CPU Manager policy "static"' in static.effects[0].why


def test_a_memory_limit_is_not_lowered_below_the_usage() -> None:
    used = {"name": "app", "usage": {"cpu": "1m", "memory": "900Mi"}}
    head = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "containers": [used]}
    metrics = head | {"metadata": {"name": "p", "namespace": "default"}}
    own = box("app", limit="2")
    found = dump(node("n1"), pod(own), metrics)
    words = "resize p requests.memory=512Mi limits.memory=512Mi"
    (effect,) = what_if(found, [words]).effects
    assert effect.kind == "deferred" and "below current usage" in effect.why


def test_containers_that_restart_are_named() -> None:
    own = box("app", resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}])
    (effect,) = what_if(dump(node("n1"), pod(own)), ["resize p cpu=2"]).effects
    assert effect.kind == "resized" and "container app restarts" in effect.why


def test_releases_without_in_place_resizes_say_so() -> None:
    answer = what_if(dump(node("n1"), pod(box("app")), release="1.32"), ["resize p cpu=2"])
    assert answer.exit_code == 1 and "cannot be resized in place in 1.32" in answer.sentence
