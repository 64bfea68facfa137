"""NodeName: the named node alone, and the node whose arrival brings the pod back."""

from __future__ import annotations

import pytest

from kitlib.api.release import Release
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_name import NodeName
from kitlib.study.scenario import node_of, pod_of


@pytest.mark.parametrize(("wanted", "passing"), [("", [0, 1]), ("b", [1]), ("c", [])])
def test_a_pod_that_names_a_node_fits_there_only(wanted: str, passing: list[int]) -> None:
    """Source: nodename Fits."""
    context = Context(Snapshot([node_of({"name": name}) for name in "ab"]), Release("1.36"))
    info, rows = PodInfo(pod_of({"name": "p", "node": wanted})), context.snapshot.every_row()
    found = NodeName().filter(None, info, context, rows)
    assert [row for row in range(2) if not found.codes[row]] == passing


@pytest.mark.parametrize(("wanted", "woken"), [("a", True), ("b", False), ("", False)])
def test_the_named_node_brings_its_pod_back(wanted: str, woken: bool) -> None:
    """Source: nodename isSchedulableAfterNodeChange."""
    ((_, hint),) = NodeName().events_to_register(Context(Snapshot(), Release("1.36")))
    assert hint is not None
    assert hint(pod_of({"name": "p", "node": wanted}), None, node_of({"name": "a"})) is woken
