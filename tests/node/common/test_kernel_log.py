"""The record of the kernel's log is bounded and says where lines are missing."""

from __future__ import annotations

from kitlib.cluster.nodes.kernel_log import lines_of_node
from kitlib.node.common import kernel_log
from kitlib.node.common.kernel_log import LOST, KernelLog, RingReader


def test_every_line_of_a_ring_is_read_once() -> None:
    reader = RingReader()
    assert reader.new(["[1] a", "[2] b"]) == (["[1] a", "[2] b"], False)
    assert reader.new(["[1] a", "[2] b"]) == ([], False)
    assert reader.new(["[2] b", "[3] c"]) == (["[3] c"], False)


def test_a_ring_that_has_turned_over_between_two_looks_is_said() -> None:
    reader = RingReader()
    reader.new(["[1] a", "[2] b"])
    assert reader.new(["[7] g", "[8] h"]) == (["[7] g", "[8] h"], True)
    assert reader.new(["[8] h", "[9] i"]) == (["[9] i"], False)
    assert reader.new([]) == ([], False)  # cleared with `dmesg --clear`
    assert reader.new(["[10] j"]) == (["[10] j"], True)


def test_the_record_keeps_the_last_lines_and_counts_the_others() -> None:
    log = KernelLog()
    for number in range(kernel_log.KEPT + 5000):
        log.append(f"[{number}] x")
    assert kernel_log.KEPT <= len(log) <= kernel_log.KEPT + 1000
    assert log[-1] == f"[{kernel_log.KEPT + 4999}] x"
    said, first = log.shown()[:2]
    assert said == f"kitlib: {log.dropped} older lines are not kept" and first == f"[{log.dropped}] x"
    assert len(log) + log.dropped == kernel_log.KEPT + 5000


def test_a_gap_is_shown_whosever_reports_stand_around_it() -> None:
    def report(pod: str) -> list[str]:
        return ["x invoked oom-killer", f"oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/{pod},task=x,pid=1"]

    theirs, ours, rest = report("theirs"), report("ours"), report("theirs")[1:]
    assert lines_of_node([*theirs, LOST, *rest, *ours], ["ours"]) == [LOST, *ours]
