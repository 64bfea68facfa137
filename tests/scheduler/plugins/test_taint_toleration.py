"""TaintToleration and NodeUnschedulable: who is kept away, what is preferred, which changes bring a pod back."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node, Taint, Toleration
from kitlib.api.release import Release
from kitlib.scheduler.framework.events import NODE
from kitlib.scheduler.framework.plugin import Context, Plugin
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kitlib.scheduler.plugins.taint_toleration import TaintToleration
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of


def node(name: str, *effects: str, cordoned: bool = False) -> Node:
    made: Node = node_of({"name": name})
    made.spec.taints = [Taint(key=f"k{i}", value="v", effect=effect) for i, effect in enumerate(effects)]
    made.spec.unschedulable = cordoned
    return made


NODES = [
    node("plain"), node("soft", "PreferNoSchedule", "PreferNoSchedule"), node("mild", "PreferNoSchedule"),
    node("hard", "NoSchedule"), node("gone", "NoExecute"), node("cordoned", cordoned=True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tolerations", "feasible", "points"),
    [
        ([], "plain soft mild", [100, 0, 50]),
        ([{"key": "k1", "operator": "Exists"}], "plain soft mild", [100, 0, 0]),
        ([{"key": "k0", "operator": "Equal", "value": "v"}], "plain soft mild hard gone", [100, 0, 100, 100, 100]),
        ([{"key": "k0", "value": "v", "effect": "NoSchedule"}], "plain soft mild hard", [100, 0, 50, 100]),
        ([{"operator": "Exists"}], "plain soft mild hard gone cordoned", [100] * 6),
    ],
    ids=["none", "one of two", "by value", "of one effect", "of everything"],
)
def test_who_is_kept_away_and_what_is_preferred(tolerations: list[Any], feasible: str, points: list[int]) -> None:
    """Source: tainttoleration Filter, countIntolerableTaintsPreferNoSchedule; nodeunschedulable Filter."""
    asked = pod_of({"name": "p", "spec": {"tolerations": tolerations}})
    decision = Scheduler(NODES, release="1.36").explain(asked)
    assert decision.feasible == feasible.split() and decision.scores is not None
    assert decision.scores.normalized["TaintToleration"].tolist() == points


@pytest.mark.parametrize(
    ("plugin", "old", "new", "woken"),
    [
        (TaintToleration(), None, node("n"), True),
        (TaintToleration(), None, node("n", "NoSchedule"), False),
        (TaintToleration(), node("n", "NoSchedule"), node("n"), True),
        (TaintToleration(), node("n", "NoSchedule"), node("n", "PreferNoSchedule"), True),
        (TaintToleration(), node("n"), node("n"), False),
        (NodeUnschedulable(), None, node("n"), True),
        (NodeUnschedulable(), None, node("n", cordoned=True), False),
        (NodeUnschedulable(), node("n", cordoned=True), node("n"), True),
        (NodeUnschedulable(), node("n"), node("n"), False),
    ],
)
def test_a_node_that_opens_brings_a_pod_back(plugin: Plugin, old: Node | None, new: Node, woken: bool) -> None:
    """Source: isSchedulableAfterNodeChange of both plugins."""
    hints = plugin.events_to_register(Context(Snapshot(), Release("1.36")))
    hint: Any = next(hint for event, hint in hints if event.resource == NODE)
    pod = pod_of({"name": "p"})
    pod.spec.tolerations = [Toleration(key="other", operator="Exists")]
    assert hint(pod, old, new) is woken
