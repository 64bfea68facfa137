"""A question's picture is drawn from what the notebook observed, and is shown with the guess, never before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kitlib.lab import Lesson, pod, wait_until_running
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Findings, Question
from kitlib.lab.lessons import content
from kitlib.lab.pictures import picture_of
from kitlib.lab.progress import Progress
from kitlib.views.tokens import LIGHT
from tests.notebooks.course import NAMES

PICTURE = show.amounts("Quota", lambda seen: {"quota": seen.observed}, unit="µs", picked=["quota"])


def test_a_picture_reads_what_was_observed_and_draws_the_guess() -> None:
    question = Question("quota", "Which quota?", unit="µs", picture=PICTURE)
    drawn = picture_of(question, Findings(50_000))
    assert drawn is not None
    assert "50,000 µs" in drawn(guess=None).svg() and LIGHT["guess"] not in drawn(guess=None).svg()
    assert "your guess 70,000 µs" in drawn(guess=70_000.0).svg()


def test_values_that_do_not_fit_leave_the_answer_without_its_picture() -> None:
    assert picture_of(Question("quota", "Which quota?", picture=PICTURE), Findings("not a number")) is None
    assert picture_of(Question("quota", "Which quota?"), Findings(1)) is None


def test_the_lesson_shows_the_picture_with_the_verdict_and_nothing_of_it_before(tmp_path: Path) -> None:
    lesson = Lesson("01-a-pod-becomes-cgroup-files", "simulated", progress=Progress(tmp_path))
    asked = lesson.ask("quota")
    shown = lesson.reveal("quota", 50_000)
    assert "svg" not in str(shown._repr_mimebundle_())
    asked.answer(40_000)
    assert shown.verdict is not None
    assert "your guess 40,000 µs" in shown.verdict._repr_html_() and "svg" not in str(shown.verdict)


def test_kinds_that_read_the_cluster_show_its_pods(tmp_path: Path) -> None:
    lesson = Lesson("test", "simulated", progress=Progress(tmp_path))
    cluster = lesson.cluster([{"name": "n1", "cpus": 2, "memory": "1Gi"}])
    cluster.apply([pod("web", cpu="500m", cpu_limit="500m", memory="64Mi", memory_limit="64Mi"), pod("big", cpu="4")])
    wait_until_running(cluster, "web")
    seen = Findings(None, cluster)
    said = {
        "pod": show.pod("web")(seen)(guess=None).sentence,
        "fates": show.fates("Pods")(seen)(guess=None).sentence,
        "placed": show.placed("Pods")(seen)(guess=None).sentence,
    }
    lesson.close()
    assert said["pod"] == "The pod web is Guaranteed."
    assert "web: empty, Running." in said["fates"]
    assert said["placed"] == "n1: web. waits: big."


def test_a_refused_request_stops_at_the_component_that_refuses_it() -> None:
    way = show.admission("Way", "64 CPUs", refused=lambda seen: seen.observed, by="kubelet", way=show.RESIZE)
    stopped, passed = (way(Findings(refused))(guess=None).sentence for refused in (True, False))
    assert "API server passes it on, then kubelet refuses it, then kernel never sees it" in stopped
    assert "refuses" not in passed


@pytest.mark.parametrize(
    ("observed", "words"), [(60.0, "changed at 0 to 60 s, again at 60 s"), (None, "no loop repairs it at 0 to 120 s")]
)
def test_a_changed_file_stays_until_a_loop_repairs_it(observed: float | None, words: str) -> None:
    assert words in show.repaired("File", "burstable", "again")(Findings(observed))(guess=None).sentence


def test_a_cgroup_path_becomes_levels_with_short_names() -> None:
    found = show.levels("/kubepods/burstable/pod0870e15c-2fcd-41b5-924b-ace4307bf326/" + "f" * 64)
    assert [name for name, _ in found][:2] == ["kubepods", "burstable"] and max(len(name) for name, _ in found) < 47


def test_most_questions_of_the_course_have_a_picture_of_their_own() -> None:
    """The others are followed by a chart or a widget; a new question needs one of the two."""
    folder = Path(__file__).parents[2] / "notebooks"
    asked = {
        name: re.findall(r'lesson\.ask\(\\"([^"\\]+)', (folder / f"{name}.ipynb").read_text("utf-8")) for name in NAMES
    }
    all_of_them = [(name, key) for name in NAMES for key in asked[name]]
    without = [(name, key) for name, key in all_of_them if content(name).questions[key].picture is None]
    assert len(without) <= len(all_of_them) / 6, without
