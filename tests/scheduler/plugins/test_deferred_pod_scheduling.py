"""DeferredPodScheduling: nodes that close themselves to preemption for resizes, and when one opens again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.plugins.deferred_pod_scheduling import DISABLED, DeferredPodScheduling


def node(disabled: bool | None, name: str = "a") -> Node:
    spec = {} if disabled is None else {"podPreemptionPolicy": {"disableResizePreemption": ["x"] if disabled else []}}
    return from_dict({"metadata": {"name": name}, "spec": spec}, Node)


def pod(on: str = "a", reason: str = "Deferred") -> Pod:
    condition = {"type": "PodResizePending", "status": "True", "reason": reason}
    return from_dict({"metadata": {"name": "p"}, "spec": {"nodeName": on}, "status": {"conditions": [condition]}}, Pod)


def test_nodes_without_preemption_for_resizes_are_rejected() -> None:
    context = Context(Snapshot([node(None, "a"), node(False, "b"), node(True, "c")]), Release("1.37"))
    found = DeferredPodScheduling().filter(None, PodInfo(pod()), context, np.arange(3))
    assert found.codes.tolist() == [0, 0, Code.UnschedulableAndUnresolvable]
    assert found.texts[found.which[2]] == (DISABLED,)


@pytest.mark.parametrize(
    ("old", "new", "asked", "expected"),
    [
        (node(True), node(False), pod(), True),
        (node(True), node(None), pod(), True),
        (node(False), node(False), pod(), False),
        (node(False), node(True), pod(), False),
        (node(True), node(True), pod(), False),
        (None, node(None), pod(), True),
        (None, node(True), pod(), False),
        (node(True, "b"), node(False, "b"), pod(), False),
        (node(True), node(False), pod(reason="Infeasible"), False),
        (node(True), pod(), pod(), False),
    ],
    ids=["opened", "policy removed", "was open", "closed", "stays closed", "new", "new and closed", "another node",
         "not deferred", "no node"],
)  # fmt: skip
def test_a_deferred_resize_is_tried_again_when_its_own_node_opens(
    old: Any, new: Any, asked: Pod, expected: bool
) -> None:
    context = Context(Snapshot(), Release("1.37"))
    hints = [hint for _, hint in DeferredPodScheduling().events_to_register(context)]
    assert [hint(asked, old, new) for hint in hints] == [expected] * 2  # type: ignore[misc]


def test_a_pod_is_not_bound_a_second_time() -> None:
    assert DeferredPodScheduling().permit(PodInfo(pod()), node(None)).code is Code.UnschedulableAndUnresolvable
