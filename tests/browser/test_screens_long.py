"""Tests that each screen of a notebook has a picture or a question after Run All, and that forms take a small part."""

from __future__ import annotations

import pytest
from anatomy import ROOT, SCREEN, bare, measured
from visits import restored

NAMES = [one.stem for one in sorted((ROOT / "notebooks").glob("*.ipynb")) if one.stem[:2] != "00"]
MOST_FORMS = 15
"""Share of the height, in per cent, of the fields of questions and of the cards that wait for a guess."""


@pytest.fixture(scope="module")
def course(browser, tmp_path_factory):
    """A page of `kitlib lab` that shows answers at once."""
    with restored(browser, tmp_path_factory.mktemp("course"), KITLIB_ANSWERS="shown") as visit:
        yield visit.page


@pytest.mark.parametrize("name", NAMES)
def test_no_screen_is_without_a_picture_or_a_question(course, name):
    found = measured(course, name)
    assert found["bare"] == []
    assert found["shares"]["form"] <= MOST_FORMS


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["prose", SCREEN, "a"], ["picture", 90, ""]], []),
        ([["prose", SCREEN, "a"], ["code", 1, "b"], ["picture", 90, ""]], [(SCREEN + 1, "a")]),
        ([["prose", 500, "a"], ["question", 60, ""], ["table", 500, "b"]], []),
        ([["picture", 90, ""], ["table", 500, "b"], ["text", 500, "c"]], [(1000, "b")]),
    ],
)
def test_a_stretch_ends_at_a_picture_or_a_question(rows, expected):
    assert bare(rows) == expected
