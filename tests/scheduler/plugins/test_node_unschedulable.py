"""NodeUnschedulable: cordoned nodes, who tolerates them, and the node that is opened."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node
from kitlib.api.release import Release
from kitlib.scheduler.framework.events import NODE
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kitlib.study.scenario import node_of, pod_of

KEY = "node.kubernetes.io/unschedulable"


def node(name: str, cordoned: bool) -> Node:
    made: Node = node_of({"name": name})
    made.spec.unschedulable = cordoned
    return made


@pytest.mark.parametrize(
    ("tolerations", "passing"),
    [
        ([], ["open"]),
        ([{"operator": "Exists"}], ["cordoned", "open"]),
        ([{"key": KEY, "operator": "Exists", "effect": "NoSchedule"}], ["cordoned", "open"]),
        ([{"key": KEY, "operator": "Exists", "effect": "NoExecute"}], ["open"]),
        ([{"key": "other", "operator": "Exists"}], ["open"]),
    ],
)
def test_a_cordoned_node_takes_pods_that_tolerate_its_taint(tolerations: list[Any], passing: list[str]) -> None:
    """Source: nodeunschedulable Filter."""
    context = Context(Snapshot([node("open", False), node("cordoned", True)]), Release("1.36"))
    info = PodInfo(pod_of({"name": "p", "spec": {"tolerations": tolerations}}))
    found = NodeUnschedulable().filter(None, info, context, context.snapshot.every_row())
    names = [context.snapshot.names[row] for row in range(2) if not found.codes[row]]
    assert sorted(names) == passing


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [(None, False, True), (None, True, False), (True, False, True), (False, False, False), (True, True, False)],
)
def test_a_node_that_is_opened_brings_a_pod_back(old: bool | None, new: bool, woken: bool) -> None:
    """Source: nodeunschedulable isSchedulableAfterNodeChange."""
    registered = NodeUnschedulable().events_to_register(Context(Snapshot(), Release("1.36")))
    hint: Any = next(hint for event, hint in registered if event.resource == NODE)
    before = None if old is None else node("a", old)
    assert hint(pod_of({"name": "p"}), before, node("a", new)) is woken
