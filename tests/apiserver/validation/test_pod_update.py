"""Updates of a pod: which fields may change, in which direction, and what a gated pod may narrow."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.apiserver.validation.pod_update import validate_pod_update

MAIN = {"name": "main", "image": "x", "imagePullPolicy": "Always"}
NODE_AFFINITY = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def pod(**spec: Any) -> Pod:
    meta = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1"}
    made = from_dict({"metadata": meta, "spec": {"containers": [MAIN], **spec}}, Pod)
    return set_defaults(made)


def told(old: Pod, new: Pod) -> list[str]:
    """Return field and kind of each error."""
    return [": ".join(str(error).split(": ")[:2]) for error in validate_pod_update(deepcopy(new), old)]


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        ({}, {}, []),
        ({}, {"containers": [{**MAIN, "image": "y"}]}, []),
        ({}, {"containers": [{**MAIN, "image": ""}]}, ["spec.containers[0].image: Required value"]),
        ({}, {"containers": [{**MAIN, "command": ["y"]}]}, ["spec: Forbidden"]),
        ({}, {"containers": [MAIN, {**MAIN, "name": "b"}]}, ["spec.containers: Forbidden"]),
        ({}, {"initContainers": [{**MAIN, "name": "b"}]}, ["spec.initContainers: Forbidden"]),
        ({"initContainers": [{**MAIN, "name": "b"}]}, {"initContainers": [{**MAIN, "name": "b", "image": "y"}]}, []),
        ({}, {"hostNetwork": True}, ["spec: Forbidden"]),
        ({"terminationGracePeriodSeconds": 5}, {"terminationGracePeriodSeconds": 1}, ["spec: Forbidden"]),
        ({"terminationGracePeriodSeconds": 0}, {"terminationGracePeriodSeconds": 1}, ["spec: Forbidden"]),
        ({"terminationGracePeriodSeconds": -5}, {"terminationGracePeriodSeconds": 1}, []),
        ({"terminationGracePeriodSeconds": -5}, {"terminationGracePeriodSeconds": 2}, ["spec: Forbidden"]),
    ],
)
def test_which_fields_may_change(before: dict[str, Any], after: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidatePodUpdate."""
    assert list(dict.fromkeys(told(pod(**before), pod(**before | after)))) == errors


def test_the_changed_fields_are_named() -> None:
    new = pod(hostNetwork=True, containers=[{**MAIN, "command": ["y"]}], nodeSelector={"a": "b"})
    (error,) = validate_pod_update(new, pod())
    assert sorted(str(error).rpartition("changed: ")[2].split(", ")) == [
        "spec.containers",
        "spec.hostNetwork",
        "spec.nodeSelector",
    ]


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        (None, 1, []),
        (10, 10, []),
        (10, 9, []),
        (10, 11, ["spec.activeDeadlineSeconds: Invalid value"]),
        (10, None, ["spec.activeDeadlineSeconds: Invalid value"]),
        (None, None, []),
        (None, 2**31 - 1, []),
    ],
)
def test_a_deadline_is_set_or_shortened(before: int | None, after: int | None, errors: list[str]) -> None:
    assert told(pod(activeDeadlineSeconds=before), pod(activeDeadlineSeconds=after)) == errors


@pytest.mark.parametrize(("value", "last"), [(-1, True), (0, True), (2**31, True), (2**31 - 1, False)])
def test_a_deadline_out_of_range_or_later_ends_the_check(value: int, last: bool) -> None:
    new = pod(activeDeadlineSeconds=value, hostNetwork=True)
    found = told(pod(), new)
    assert ("spec: Forbidden" not in found) is (last and value != 0)


SECONDS = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        ([], [SECONDS], []),
        ([SECONDS], [SECONDS, {"key": "b", "operator": "Exists"}], []),
        ([SECONDS], [{"key": "b", "operator": "Exists"}, SECONDS], []),
        ([SECONDS], [{**SECONDS, "tolerationSeconds": 9}], []),
        ([SECONDS], [], ["spec.tolerations: Forbidden"]),
        ([SECONDS], [{**SECONDS, "key": "b"}], ["spec.tolerations: Forbidden"]),
        ([SECONDS], [{**SECONDS, "operator": "Equal", "value": "v"}], ["spec.tolerations: Forbidden"]),
        ([{"key": "b", "operator": "Exists"}], [{"key": "b", "operator": "Exists", "effect": "NoExecute"}],
         ["spec.tolerations: Forbidden"]),
    ],
)  # fmt: skip
def test_tolerations_are_only_added(before: list[Any], after: list[Any], errors: list[str]) -> None:
    """Source: validateOnlyAddedTolerations."""
    assert told(pod(tolerations=before), pod(tolerations=after)) == errors


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        (["a", "b"], ["a"], []),
        (["a"], [], []),
        (["a"], ["a"], []),
        (["a"], ["a", "b"], ["spec.schedulingGates[1].name: Forbidden"]),
        ([], ["b"], ["spec.schedulingGates[0].name: Forbidden"]),
        (["a"], ["b"], ["spec.schedulingGates[0].name: Forbidden"]),
    ],
)
def test_gates_are_only_removed(before: list[str], after: list[str], errors: list[str]) -> None:
    gates = [[{"name": name} for name in names] for names in (before, after)]
    assert told(pod(schedulingGates=gates[0]), pod(schedulingGates=gates[1])) == errors


def requirement(key: str, value: str = "v") -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [value]}


def named(name: str) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": "In", "values": [name]}


def terms(*listed: dict[str, Any], **more: Any) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(listed)}}
    return {"affinity": {"nodeAffinity": required, **more}}


A, AB = {"matchExpressions": [requirement("a")]}, {"matchExpressions": [requirement("a"), requirement("b")]}
PODS = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": A}]}


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        ({}, {"nodeSelector": {"a": "b"}}, []),
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "b", "c": "d"}}, []),
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "c"}}, ["spec.nodeSelector: Invalid value"]),
        ({"nodeSelector": {"a": "b"}}, {}, ["spec.nodeSelector: Invalid value"]),
        ({}, terms(A), []),
        (terms(A), terms(A), []),
        (terms(A), terms(AB), []),
        (terms(AB), terms(A), [f"{NODE_AFFINITY}[0]: Invalid value"]),
        (terms(A), terms({"matchExpressions": [requirement("a", "w")]}), [f"{NODE_AFFINITY}[0]: Invalid value"]),
        (terms(A), terms({**A, "matchFields": [named("n")]}), []),
        (terms({"matchFields": [named("n")]}), terms({"matchFields": [named("m")]}),
         [f"{NODE_AFFINITY}[0]: Invalid value"]),
        (terms({"matchFields": [named("n")]}), terms(A), [f"{NODE_AFFINITY}[0]: Invalid value"]),
        (terms(A, AB), terms(A, A), [f"{NODE_AFFINITY}[1]: Invalid value"]),
        (terms(A), terms(A, A), [f"{NODE_AFFINITY}: Invalid value"]),
        (terms(A), {}, [f"{NODE_AFFINITY}: Invalid value"]),
        (terms({}), terms(A), [f"{NODE_AFFINITY}[0]: Invalid value"]),
        (terms({}), terms({"matchFields": [named("n")]}), [f"{NODE_AFFINITY}[0]: Invalid value"]),
        ({"affinity": PODS}, {"affinity": {**PODS, **terms(A)["affinity"]}}, []),
        ({}, {"affinity": PODS}, ["spec: Forbidden"]),
        ({"affinity": {**PODS, **terms(A)["affinity"]}}, terms(A), ["spec: Forbidden"]),
        ({}, {"affinity": {"nodeAffinity": PREFERRED}}, []),
        ({"affinity": {"nodeAffinity": PREFERRED}}, {}, []),
    ],
)  # fmt: skip
def test_a_gated_pods_placement_is_only_narrowed(
    before: dict[str, Any], after: dict[str, Any], errors: list[str]
) -> None:
    """Source: KEP-3838, validateNodeAffinityMutation."""
    gate = {"schedulingGates": [{"name": "g"}]}
    assert told(pod(**gate, **before), pod(**gate, **after)) == errors


def test_a_pod_without_gates_keeps_its_placement() -> None:
    assert told(pod(), pod(nodeSelector={"a": "b"})) == ["spec: Forbidden"]
    assert told(pod(**terms(A)), pod(**terms(AB))) == ["spec: Forbidden"]
