"""The scheduler's columns stay right however far behind a reader is, and the list of changes stays short."""

from __future__ import annotations

import numpy as np

from kitlib.api.core import Node, Pod
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework import change_log
from kitlib.scheduler.framework.change_log import ChangeLog
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot


def test_a_reader_gets_the_rows_that_have_changed_since() -> None:
    log = ChangeLog()
    for row in (3, 1, 3):
        log.append(row)
    assert log.position == 3
    assert [log.since(position) for position in range(4)] == [{1, 3}, {1, 3}, {3}, set()]


def test_the_log_is_bounded_and_says_what_it_does_not_know_any_more() -> None:
    log = ChangeLog()
    for row in range(5 * change_log.KEPT):
        log.append(row % 7)
    assert log.position == 5 * change_log.KEPT and len(log) <= 2 * change_log.KEPT
    assert log.since(0) is None
    assert log.since(log.position - change_log.KEPT) == set(range(7))


def test_a_column_that_nobody_asked_for_in_a_long_time_is_computed_anew() -> None:
    nodes = [from_dict({"kind": "Node", "apiVersion": "v1", "metadata": {"name": f"n{i}"}}, Node) for i in range(3)]
    snapshot = Snapshot(nodes)
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "x"}]}
    pod = from_dict({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "uid": "u"}, "spec": spec}, Pod)

    def counts() -> list[int]:
        (column,) = snapshot.kept("pods", lambda rows: (np.array([len(snapshot.pods[r]) for r in rows]),))
        return list(column)

    info = PodInfo(pod)
    assert counts() == [0, 0, 0]
    remembered = snapshot.remembered("x")
    remembered[1] = "old"
    for _ in range(change_log.KEPT + 1):
        snapshot.add(info)
        snapshot.remove(info)
    snapshot.add(info)
    assert counts() == [0, 1, 0]
    assert snapshot.remembered("x") == {}
