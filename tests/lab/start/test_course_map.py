"""The map of the course: every notebook and lab, what was done in it, and where to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitlib.lab.launch import course_source
from kitlib.lab.progress import Progress
from kitlib.lab.start import start
from kitlib.lab.start.course_map import continue_with, course_map


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


def test_the_first_scene_leads_to_the_notebook_about_it_and_cards_show_plain_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    page = start(nodes="simulated")
    scene, course = page.scene, page.course
    assert scene["lesson"]["path"] == "notebooks/05-who-dies-first.ipynb"
    assert scene["lesson"]["title"].startswith("05 · ")
    assert not [card for card in course["cards"] if "`" in card["question"]]
    page.close()
