"""The workload language: phases as an annotation declares them."""

import pytest

from kitlib.node.common.workload import FOREVER, Phase, declared_workload

MI = 2**20


def test_a_declared_curve_is_read():
    workload = declared_workload("10s cpu=500m memory=100Mi; memory=200Mi exit=3")
    assert workload.phases == (Phase(10, 0.5, 100 * MI), Phase(FOREVER, 0.5, 200 * MI))
    assert workload.exit_code == 3


@pytest.mark.parametrize(("text", "phases", "code"), [("5s memory=50Mi; exit=3", 1, 3), ("5s; cpu=1 exit=3", 2, 3)])
def test_an_exit_code_alone_is_no_phase(text, phases, code):
    workload = declared_workload(text)
    assert (len(workload.phases), workload.exit_code, workload.ends) == (phases, code, phases == 1)


@pytest.mark.parametrize(
    "text",
    [
        *("10s cpu=lots", "colour=blue", "cpu=1; 10s cpu=2", "memory=1Mi; exit=3"),
        *("cpu=8 burst=160ms", "cpu=8 every=1s", "burst=160ms every=1s", "cpu=1 burst=1ms every=0s"),
    ],
)
def test_a_curve_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError):
        declared_workload(text)


def test_bursts_are_cpu_time_and_the_seconds_between_them():
    (phase,) = declared_workload("cpu=8 burst=160ms every=0.5").phases
    assert (phase.cpus, phase.burst, phase.every) == (8, 0.16, 0.5)
