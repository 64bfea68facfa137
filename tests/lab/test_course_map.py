"""The map of the course: every notebook and lab, what was done in it, and where to go on."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from kitlib.lab.course_map import (
    FIRST_PATH,
    GROUPS,
    TOGETHER,
    asked_at_stop,
    continue_with,
    course_map,
    first_path,
    grouped,
    of_number,
)
from kitlib.lab.launch import course_source
from kitlib.lab.progress import Progress
from kitlib.lab.start import start

ROOT = Path(__file__).parents[2]


@pytest.fixture
def progress(tmp_path):
    return Progress(tmp_path)


def test_every_notebook_and_lab_has_a_card_with_question_minutes_and_points(progress):
    cards = course_map(progress)
    labs = [card for card in cards if card.kind == "lab"]
    notebooks = [card for card in cards if card.kind == "notebook"]
    assert {card.name for card in labs} == {path.parent.name for path in course_source("labs").glob("*/lab.toml")}
    assert len(notebooks) == len(list(course_source("notebooks").glob("*.ipynb"))) - 1
    assert all(card.title and card.question and 5 <= card.minutes <= 90 and card.of > 0 for card in cards)
    assert all(card.state == "new" for card in cards)
    assert not [card for card in cards if "00-start-here" in card.path]


def test_each_card_stands_in_one_group_notebooks_first_and_the_easiest_lab_next(progress):
    cards = course_map(progress)
    groups = grouped(cards)
    assert sorted(card.path for _, members in groups for card in members) == sorted(card.path for card in cards)
    assert [group.title for group, _ in groups] == [*(group.title for group in GROUPS), TOGETHER.title]
    for group, members in groups:
        assert [card.number for card in members if card.kind == "notebook"] == list(group.notebooks)
        kinds, stars = [card.kind for card in members], [card.stars for card in members]
        assert kinds == sorted(kinds, reverse=True) and stars == sorted(stars)
    assert [card.number for card in groups[-1][1]] == ["16"]


def test_the_first_path_has_eight_stops_within_ninety_minutes_and_pages_say_the_same(progress):
    path = first_path(progress)
    assert len(path) == 8
    assert 75 <= 5 + sum(stop.minutes for stop in path) <= 90
    page = (ROOT / "kitlib/docs/course.md").read_text("utf-8")
    rows = re.findall(r"^\| \[[0-9b]+\]\(../../(\S+)\) .+ \| (\d+) \| (.+) \|$", page, re.M)
    assert [tuple(map(str, (stop.path, stop.minutes, stop.until))) for stop in path] == rows[: len(path)]
    assert f"eight stops ({sum(stop.minutes for stop in path)} minutes)" in page
    for stop, following in pairwise(path):
        (line,) = re.findall(
            r"\*\*Ninety minutes:\*\* stop here\. .+?\((\S+)\)\.", (ROOT / stop.path).read_text("utf-8")
        )
        assert f"notebooks/{line}" == following.path
    (after,) = re.findall(r"(?s)this was the last stop\..+?\((\S+?)\)", (ROOT / path[-1].path).read_text("utf-8"))
    for number in FIRST_PATH:
        for key in asked_at_stop(number):
            progress.record("prediction", of_number(number), key, 0, 1, predicted="x")
    assert continue_with(course_map(progress), progress).path == f"notebooks/{after}", "as the start page says"
    start_page = (ROOT / "notebooks/00-start-here.ipynb").read_text("utf-8")
    assert [f"notebooks/{link}" for link in re.findall(r"\]\((\S+?\.ipynb)\)", start_page)] == [s.path for s in path]


def test_a_group_takes_the_hours_that_the_course_page_says(progress):
    cards = course_map(progress)
    page = (ROOT / "kitlib/docs/course.md").read_text("utf-8")
    for group, members in grouped(cards)[:-1]:
        (row,) = [line for line in page.splitlines() if line.lower().startswith(f"| {group.title.lower()} |")]
        minutes = {kind: sum(card.minutes for card in members if card.kind == kind) for kind in ("notebook", "lab")}
        labs = f" and {_hours(minutes['lab'])}" if minutes["lab"] else ""
        assert f"| {_hours(minutes['notebook'])}{labs} |" in row


def _hours(minutes: int) -> str:
    """Minutes as the course page has them, to the next half hour."""
    half = int(minutes / 30 + 0.5)
    return f"{half // 2 or ''}{'½' if half % 2 else ''} h"


def test_a_stop_is_done_when_the_questions_before_its_end_are_answered(progress):
    name = "13-topology-spread"
    for key, state in (("old", "new"), ("new", "begun"), ("side", "begun"), ("taints", "done")):
        progress.record("prediction", name, key, 0, 1, predicted="x")
        assert {stop.path: stop.state for stop in first_path(progress)}[f"notebooks/{name}.ipynb"] == state


def test_a_learner_begins_with_the_first_notebook_goes_on_where_work_is_left_and_then_with_the_next(progress):
    first, second = course_map(progress)[:2]
    assert continue_with(course_map(progress), progress) == first
    progress.record("prediction", second.name, "one", 1, 1, predicted="x")
    there = course_map(progress)
    assert (there[1].state, there[1].done) == ("begun", 1)
    assert continue_with(there, progress).name == second.name
    for number in range(int(second.of)):
        progress.record("prediction", second.name, f"key {number}", 0, 1, predicted="x")
    there = course_map(progress)
    assert there[1].state == "done", "answered wrongly is answered"
    assert continue_with(there, progress).number == "03"


def test_a_learner_of_the_path_goes_on_with_the_next_stop_and_after_the_last_with_a_new_notebook(progress):
    for place, number in enumerate(FIRST_PATH):
        assert continue_with(course_map(progress), progress).number == number
        for key in asked_at_stop(number):
            progress.record("prediction", of_number(number), key, 0, 1, predicted="x")
        assert [stop.state for stop in first_path(progress)].count("done") == place + 1
    assert continue_with(course_map(progress), progress).number == "03"
    progress.record("prediction", of_number("14"), "never", 0, 1, predicted="x")
    assert continue_with(course_map(progress), progress).number == "14", "the rest of a notebook is work outside"


def test_a_lab_is_done_with_all_its_points(progress):
    lab = next(card for card in course_map(progress) if card.kind == "lab")
    progress.record("check", lab.name, "all", lab.of - 1, lab.of)
    assert next(card for card in course_map(progress) if card.name == lab.name).state == "begun"
    progress.record("check", lab.name, "all", lab.of, lab.of)
    assert next(card for card in course_map(progress) if card.name == lab.name).state == "done"


def test_when_everything_is_done_nothing_is_left_to_continue(progress):
    for card in course_map(progress):
        progress.record("check", card.name, "all", card.of, card.of)
    assert continue_with(course_map(progress), progress) is None


def test_the_first_scene_leads_to_the_first_stop_and_cards_show_plain_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    page = start(nodes="simulated")
    scene, course = page.scene, page.course
    assert scene["lesson"]["path"] == "notebooks/01-a-pod-becomes-cgroup-files.ipynb", "the first stop"
    assert scene["lesson"]["title"].startswith("01 · ")
    assert not [card for card in course["cards"] if "`" in card["question"]]
    page.close()
