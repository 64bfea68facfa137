"""What a container's command line does to CPU and memory."""

import pytest

from kitlib.node.common.workload import FOREVER, Phase
from kitlib.node.simulated.commands import command_workload

MI = 2**20


@pytest.mark.parametrize(
    ("command", "first", "ends"),
    [
        ("sleep 10", Phase(10, 0, MI), True),
        ("sleep infinity", Phase(FOREVER, 0, MI), False),
        ("md5sum /dev/urandom", Phase(FOREVER, 1, 3 * MI), False),
        ("stress-ng --cpu 2 --timeout 5s", Phase(5, 2, 3 * MI, pids=3), True),
        ("stress-ng --vm 1 --vm-bytes 60M --vm-keep", Phase(FOREVER, 1, 63 * MI, pids=3), False),
        ("nginx", Phase(FOREVER, 0, 3 * MI), False),
    ],
)
def test_commands_are_understood(command, first, ends):
    workload = command_workload(command.split())
    assert (workload.phases[0], workload.ends) == (first, ends)


def test_a_script_runs_one_after_another():
    workload = command_workload(["sh", "-c", "sleep 20; exec stress-ng --vm 1 --vm-bytes 480M --vm-keep"])
    assert [p.seconds for p in workload.phases] == [20, FOREVER]
    assert workload.phases[1].memory == 483 * MI


@pytest.mark.parametrize(
    ("script", "tidying"),
    [
        ("sleep infinity", 0.0),
        ("trap 'echo bye; sleep 3; exit 0' TERM; sleep infinity & wait", 3.0),
        ("trap '' TERM; sleep infinity & wait", FOREVER),
        ("trap 'exit 0' SIGTERM; while :; do sleep 1; done", 0.0),
        ("trap 'sleep 3' INT; sleep infinity", 0.0),
    ],
)
def test_a_trap_says_how_long_a_process_takes_to_end(script, tidying):
    workload = command_workload(["sh", "-c", script])
    assert (workload.tidying, workload.ends) == (tidying, False)
