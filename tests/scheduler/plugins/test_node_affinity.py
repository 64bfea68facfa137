"""NodeAffinity: the weights of preferred terms, of the pod and of the profile."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.scheduler.framework.plugin import SKIP, Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_affinity import NodeAffinity
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of


def term(weight: int, **labels: str) -> dict[str, Any]:
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return {"weight": weight, "preference": {"matchExpressions": wanted}}


def preferred(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}


SSD, NEAR = {"disk": "ssd"}, {"zone": "a"}
NODES = [{"name": "n0", "labels": SSD | NEAR}, {"name": "n1", "labels": SSD}, {"name": "n2"}]


@pytest.mark.parametrize(
    ("own", "added", "expected"),
    [
        ([term(3, **SSD), term(5, **NEAR)], [], [8, 3, 0]),
        ([term(3, **SSD | NEAR)], [], [3, 0, 0]),
        ([term(0, **SSD)], [], [0, 0, 0]),
        ([], [term(2, **SSD)], [2, 2, 0]),
        ([term(5, **NEAR)], [term(2, **SSD)], [7, 2, 0]),
    ],
    ids=["weights add up", "a whole term", "weight 0", "of the profile", "of both"],
)
def test_a_node_scores_the_weights_of_the_terms_that_it_matches(
    own: list[Any], added: list[Any], expected: list[int]
) -> None:
    """Source: nodeaffinity Score."""
    plugin = NodeAffinity({"addedAffinity": preferred(*added)} if added else None)
    context = Context(Snapshot([node_of(one) for one in NODES]), Release("1.36"))
    spec = {"affinity": {"nodeAffinity": preferred(*own)}} if own else {}
    info, rows = PodInfo(pod_of({"name": "p", "spec": spec})), context.snapshot.every_row()
    assert plugin.score(plugin.pre_score(info, context, rows), info, context, rows).tolist() == expected


@pytest.mark.parametrize(("release", "skips"), [("1.25", False), ("1.36", True)])
def test_without_a_preferred_term_newer_releases_leave_the_plugin_out(release: str, skips: bool) -> None:
    """Source: nodeaffinity PreScore."""
    context = Context(Snapshot([node_of(NODES[0])]), Release(release))
    found = NodeAffinity().pre_score(PodInfo(pod_of({"name": "p"})), context, context.snapshot.every_row())
    assert (found is SKIP) is skips


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def required(*terms: Any) -> dict[str, Any]:
    """Return a pod's spec with these terms; a term is a list of expressions, or whole."""
    made = [{"matchExpressions": term} if isinstance(term, list) else term for term in terms]
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": made}}
    return {"affinity": {"nodeAffinity": affinity}}


def named(*names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}


@pytest.mark.parametrize(
    ("spec", "feasible"),
    [
        ({"nodeSelector": SSD}, ["n0", "n1"]),
        ({"nodeSelector": SSD | NEAR}, ["n0"]),
        ({"nodeSelector": {"disk": "hdd"}}, []),
        ({"nodeSelector": {"unknown": "x"}}, []),
        (required([expression("disk", "In", "ssd", "hdd")]), ["n0", "n1"]),
        (required([expression("disk", "NotIn", "ssd")]), ["n2"]),
        (required([expression("disk", "Exists"), expression("zone", "DoesNotExist")]), ["n1"]),
        (required([expression("zone", "Exists")], [expression("disk", "DoesNotExist")]), ["n0", "n2"]),
        (required(named("n1")), ["n1"]),
        (required(named("n1"), named("n2")), ["n1", "n2"]),
        (required(named("n1"), [expression("zone", "Exists")]), ["n0", "n1"]),
        (required({**named("n1", "n2"), "matchExpressions": [expression("disk", "Exists")]}), ["n1"]),
        ({"nodeSelector": NEAR, **required([expression("disk", "Exists")])}, ["n0"]),
        ({"nodeSelector": NEAR, **required(named("n1"))}, []),
    ],
)
def test_selector_and_required_terms_both_hold(spec: dict[str, Any], feasible: list[str]) -> None:
    """Terms are alternatives, expressions of a term all hold. Source: nodeaffinity GetRequiredNodeAffinity."""
    decision = Scheduler([node_of(one) for one in NODES], []).explain(pod_of({"name": "p", "spec": spec}))
    assert decision.feasible == feasible


@pytest.mark.parametrize(
    ("operator", "value", "feasible"),
    [("Gt", "3", ["four"]), ("Lt", "4", ["three"]), ("Gt", "2", ["four", "three"]), ("Lt", "x", []), ("Gt", "4", [])],
)
def test_labels_are_compared_as_whole_numbers(operator: str, value: str, feasible: list[str]) -> None:
    nodes = [{"name": "four", "labels": {"n": "4"}}, {"name": "three", "labels": {"n": "3"}},
             {"name": "text", "labels": {"n": "a"}}, {"name": "none"}]  # fmt: skip
    made = pod_of({"name": "p", "spec": required([expression("n", operator, value)])})
    assert sorted(Scheduler([node_of(one) for one in nodes], []).explain(made).feasible) == feasible
