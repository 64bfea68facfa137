"""A learner's cluster, replayed from the progress file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import Lab, look
from kitlib.lab.grading_process import look_apart
from kitlib.lab.progress import Progress

LAB = "sidecar-oom"


def test_the_cluster_of_the_newest_call_is_shown(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    lab = Lab(LAB, "simulated", seed=5, progress=progress)
    lab.cluster.advance(60)
    assert lab.call_for_help() == "Your trainer sees that you need help."
    progress.record("hint", LAB, "stable", 0, 0, number=1)
    moment = look.newest(progress.path)
    assert (moment.lab, moment.ground.seed) == (LAB, 5)
    text = look_apart(look.source(moment), moment.journal, moment.ground)
    pod = lab.cluster.list("Pod")[0]
    restarts = sum(one.restart_count for one in pod.status.container_statuses)
    shown = [pod.metadata.name, pod.spec.node_name, "CrashLoopBackOff", pod.status.qos_class, str(restarts)]
    assert restarts > 0 and text.splitlines()[1].split() == shown
    assert "Last State:" in text and "EVENTS" in text


@pytest.mark.parametrize("journal", [None, "x", {"a": 1}, [1]])
def test_without_a_journal_there_is_nothing_to_look_at(tmp_path: Path, journal: object) -> None:
    progress = Progress(tmp_path)
    progress.record("check", LAB, "stable", 0, 2, journal=journal)
    with pytest.raises(KitError, match="not checked a lab or asked for help yet"):
        look.newest(progress.path)


def test_what_cannot_be_replayed_is_an_error_and_no_more(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.record("help", LAB, "", 0, 0, journal=[{"action": "explode"}])
    moment = look.newest(progress.path)
    with pytest.raises(KitError):
        look_apart(look.source(moment), moment.journal, moment.ground)
