"""Answers in a row count from the probe's thresholds on. Source: kubelet prober.worker doProbe."""

from __future__ import annotations

import pytest

from kitlib.api.core import Container, Probe
from kitlib.kubelet.prober.worker import ProbeWorker, Result, workers_of


def worker(kind: str, failures: int = 3, successes: int = 1, period: int = 10) -> ProbeWorker:
    probe = Probe(failure_threshold=failures, success_threshold=successes, period_seconds=period)
    return workers_of(Container(name="c", **{f"{kind.lower()}_probe": probe}), 0.0)[kind]  # type: ignore[index,arg-type]


@pytest.mark.parametrize(
    ("sentence", "kind", "failures", "successes", "answers", "results"),
    [
        ("readiness begins with failure", "Readiness", 3, 1, "S", "S"),
        ("readiness fails with the third failure in a row", "Readiness", 3, 1, "SFFF", "SSSF"),
        ("a success in between begins anew", "Readiness", 3, 1, "SFFSFFF", "SSSSSSF"),
        ("readiness succeeds with the second success in a row", "Readiness", 1, 2, "SSFSS", "FSFFS"),
        ("liveness begins with success", "Liveness", 2, 1, "FF", "SF"),
        ("startup is unknown until it is one or the other", "Startup", 2, 1, "FS", "US"),
    ],
)
def test_results(sentence: str, kind: str, failures: int, successes: int, answers: str, results: str) -> None:
    probe, words = worker(kind, failures, successes), {"S": "Success", "F": "Failure", "U": "Unknown"}
    seen = []
    for answer in answers:
        found: Result = "Success" if answer == "S" else "Failure"
        probe.take(found)
        seen.append(probe.result)
    assert seen == [words[one] for one in results], sentence


def test_a_failed_liveness_probe_is_on_hold_until_a_new_container_starts() -> None:
    probe = worker("Liveness", failures=1)
    assert probe.take("Failure") and probe.on_hold
    probe.new_container()
    assert (probe.on_hold, probe.result, probe.run) == (False, "Success", 0)


def test_the_ticker_is_not_moved_by_a_trigger() -> None:
    probe = worker("Readiness", period=10)
    assert [second for second in range(1, 31) if probe.is_due(float(second))] == [10, 20, 30]
    probe.triggered = True
    assert probe.is_due(33.0) and not probe.is_due(34.0) and probe.is_due(40.0)
