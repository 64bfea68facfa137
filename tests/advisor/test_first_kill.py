"""The start page's first scene: the kernel's victim, and a reason whose every figure is the kernel's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kitlib.advisor import first_kill as kill
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def outcome():
    with Cluster.simulated(nodes=[dict(kill.NODE)]) as cluster:
        first = kill.run(cluster)
        assert kill.run(cluster).killed == first.killed, "a second run ends alike"
        assert int(cluster.node("node-1").read("/kubepods", "memory.max")) == kill.CAPACITY * kill.MIB
        yield first


def test_the_pod_that_grew_is_not_the_one_that_dies(outcome):
    assert outcome.killed == "cache" != kill.GROWING.name
    assert "Killed process" in outcome.log and "oom_score_adj:1000" in outcome.log


def test_the_ranking_is_the_kernels_and_names_the_victim_first(outcome):
    assert [(rank.name, rank.adj) for rank in outcome.ranking] == [
        ("cache", 1000),
        ("db", 641),
        ("log", 988),
        ("web", -997),
    ]
    assert outcome.ranking[0].name == outcome.killed


def test_the_scene_does_not_answer_the_questions_of_notebook_05(outcome):
    shown = {number for rank in outcome.ranking for number in (rank.adj, rank.uses, rank.points)}
    assert outcome.ranking[0].qos == "BestEffort" and not shown & {610, 500}, "there a Burstable pod dies"


def test_the_pods_fit_until_one_grows():
    uses = sum(pod.uses for pod in kill.PODS)
    free = kill.CAPACITY - uses
    assert 0 < free < kill.GROWING.wants - kill.GROWING.uses
    assert (
        f"db grows by {kill.GROWING.wants - kill.GROWING.uses} MiB, and {free} are free. "
        + ("Whom does the kernel kill?")
        == kill.QUESTION
    )


def test_a_score_that_the_machine_did_not_let_the_kubelet_lower_is_explained(outcome):
    assert not any("CAP_SYS_RESOURCE" in sentence for sentence in kill.why(outcome, "db"))
    raised = tuple(replace(rank, adj=max(rank.adj, 0)) for rank in outcome.ranking)
    *_, said = kill.why(replace(outcome, ranking=raised), "db")
    assert "gives web, which is Guaranteed, -997" in said and said.endswith("so web has 0 here.")


@pytest.mark.parametrize(
    ("guess", "says"),
    [
        ("cache", "Right: cache is killed."),
        ("db", "Not db: it grew, but its request gives it an oom_score_adj of 641."),
        ("log", "Not log: its small request gives it an oom_score_adj of 988, but it uses 20 MiB only."),
        ("web", "Not web: a Guaranteed pod has an oom_score_adj of -997: it goes last."),
    ],
)
def test_every_guess_is_answered_with_its_own_reason(outcome, guess, says):
    assert kill.why(outcome, guess)[0].startswith(says)


def test_the_shown_arithmetic_is_right(outcome):
    uses, adj, capacity, points = map(
        int, re.search(r"(\d+) \+ (\d+) ‰ of (\d+) = (\d+) MiB", " ".join(kill.why(outcome, "db"))).groups()
    )
    assert uses + adj * capacity // 1000 == points


def test_the_readmes_moving_picture_shows_the_same_figures(outcome):
    picture = (ROOT / ".pictures" / "first-kill.svg").read_text()
    for rank in outcome.ranking:
        assert f">{rank.uses} MiB {'−' if rank.adj < 0 else '+'} {abs(rank.adj)} ‰<" in picture


def test_the_story_is_told_in_four_moments_and_before_the_kill_in_one(outcome):
    quiet, grown, killing, gone = kill.moments(outcome)
    assert kill.moments(None) == [quiet]
    assert sum(quiet.uses.values()) < kill.CAPACITY < sum(grown.uses.values())
    assert killing.dead == "cache" and "cache" not in gone.uses
    assert sum(gone.uses.values()) < kill.CAPACITY, "its memory is enough"


def test_the_run_reports_its_progress_and_every_step_once():
    told = []
    with Cluster.simulated(nodes=[dict(kill.NODE)]) as cluster:
        assert kill.run(cluster, lambda text, part: told.append((text, part))).killed == "cache"
    texts, parts = zip(*told, strict=True)
    assert len(set(texts)) == len(texts) and list(parts) == sorted(parts) and parts[-1] < 1
    assert texts[-1] == "All 4 pods run; db takes its memory 4 s after its start."


def test_the_progress_counts_the_pods_that_run():
    pods = [from_dict(pod.manifest()) for pod in kill.PODS]
    assert kill.progress(pods) == ("0 of 4 pods run.", 0)
    pods[0].status.phase = "Running"
    assert kill.progress(pods) == ("1 of 4 pods run.", 0.2)
