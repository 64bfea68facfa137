"""Pressure on a node: the kubelet's order of evictions, the kernel's order, and what the copy does with them."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.advisor.dump import Dump
from kitlib.advisor.what_if import what_if
from kitlib.advisor.what_if_answer import WhatIf
from kitlib.api.errors import KitError
from kitlib.kubelet.config.settings import KubeletSettings
from tests.advisor.dumps import dump, node, pod

WHOLE = {"capacity": {"cpu": "4", "memory": "9Gi", "pods": "110"}}
"""Allocatable is 8 GiB: 924 MiB are reserved, 100 MiB are the eviction threshold."""


def memory(request: str, limit: str = "") -> dict[str, Any]:
    return {"resources": {"requests": {"memory": request}, **({"limits": {"memory": limit}} if limit else {})}}


def used(name: str, amount: str) -> dict[str, Any]:
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": "default"},
        "containers": [{"name": "c", "usage": {"cpu": "1m", "memory": amount}}],
    }


def cluster(*more: dict[str, Any]) -> Dump:
    return dump(
        node("n1", status=WHOLE),
        node("n2"),
        pod("within", on="n1", container=memory("2Gi")),
        pod("over", on="n1", container=memory("1Gi")),
        pod("guarded", on="n1", container=memory("4Gi", "4Gi")),
        pod("vital", on="n1", spec={"priority": 2000001000}),
        *(used(*one) for one in (("within", "1Gi"), ("over", "3Gi"), ("guarded", "4000Mi"), ("vital", "10Mi"))),
        *more,
    )


def order(answer: WhatIf) -> list[str]:
    return [one.pod.removeprefix("default/") for one in answer.effects if one.kind == "evicted"]


@pytest.mark.parametrize(
    ("question", "evicted"),
    [
        ("pressure n1 memory", ["over", "guarded", "within"]),  # a critical pod stays
        ("pressure n1 memory=1Gi", ["over"]),  # and that is enough
        ("pressure n1 memory=1Mi", []),
        ("pressure within memory=1500Mi", ["over"]),  # the kubelet ends the one above its request
        ("pressure within memory=5Gi", ["within"]),  # which grows furthest above its own
        ("pressure n1 disk over=5Gi within=6Gi", ["within", "over", "guarded"]),
        ("pressure n1 inodes guarded=900", ["guarded", "within", "over"]),
    ],
)
def test_the_kubelet_evicts_in_its_own_order(question: str, evicted: list[str]) -> None:
    answer = what_if(cluster(), [question])
    assert order(answer) == evicted
    assert answer.exit_code == (1 if evicted else 0)


def test_a_pod_that_reaches_its_own_limit_is_killed_and_the_node_is_not_concerned() -> None:
    answer = what_if(cluster(), ["pressure guarded memory=5Gi"])
    assert [(one.pod, one.kind, one.after) for one in answer.effects] == [("default/guarded", "killed", "n1")]
    assert "reaches its limit of 4Gi" in answer.effects[0].why


def test_the_kernels_order_is_that_of_badness() -> None:
    (said,) = [one for one in what_if(cluster(), ["pressure n1 memory"]).notes if "badness" in one]
    places = [said.index(f"default/{name}/c") for name in ("over", "guarded", "within")]
    assert places == sorted(places)


def test_an_evicted_pod_of_a_controller_moves_to_another_node() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": "w", "controller": True}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    replicas = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "w", "namespace": "default", "uid": "w"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    meta = {"labels": {"a": "b"}, "ownerReferences": [owner]}
    found = dump(node("n1", status=WHOLE), node("n2"), pod("p", on="n1", meta=meta), replicas, used("p", "9Gi"))
    (effect,) = what_if(found, ["pressure n1 memory"]).effects
    assert (effect.kind, effect.before, effect.after) == ("evicted", "n1", "n2")


def test_a_pod_without_figures_is_named_as_a_gap() -> None:
    found = dump(node("n1", status=WHOLE), pod("p", on="n1", container=memory("2Gi")))
    (gap,) = [one for one in what_if(found, ["pressure n1 memory"]).gaps if one.kind == "PodMetrics"]
    assert "1 pod is taken to use what it requests" in gap.why


def test_thresholds_are_those_of_the_kubelets_settings() -> None:
    settings = KubeletSettings(eviction_hard={"memory.available": "500Mi"})
    assert order(what_if(cluster(), ["pressure n1 memory=200Mi"], settings=settings)) == ["over"]
    off = KubeletSettings(eviction_hard={})
    answer = what_if(cluster(), ["pressure n1 memory"], settings=off)
    assert not answer.effects and "no eviction threshold" in answer.notes[0]


def test_a_soft_threshold_evicts_after_its_grace_period() -> None:
    soft = KubeletSettings(
        eviction_hard={},
        eviction_soft={"memory.available": "2Gi"},
        eviction_soft_grace_period={"memory.available": "1m30s"},
    )
    answer = what_if(cluster(), ["pressure n1 memory=1Mi"], settings=soft)
    assert order(answer) == ["over"] and "after 100 s" in answer.effects[0].why


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("pressure n1 heat", "valid values: memory, disk, inodes, pids"),
        ("pressure n1 disk=5Gi", "only memory can have an amount"),
        ("pressure n1 memory=much", "much"),
        ("pressure over memory", "memory=AMOUNT"),
        ("pressure n1 disk 5Gi", "must be POD=AMOUNT"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way_out(question: str, said: str) -> None:
    with pytest.raises(KitError, match=said):
        what_if(cluster(), [question])
