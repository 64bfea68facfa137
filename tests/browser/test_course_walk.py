"""A learner goes through a whole notebook in JupyterLab: Shift+Enter from cell to cell, guesses, exercises, sliders.

Every guess is made with mouse or keyboard before the answer is shown, every exercise is first left alone, then answered
wrongly, then rightly. In the gate one notebook, in the nightly form all of them, on one server and in one page, as in
an afternoon.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from visits import OpenNotebook, Visit, restored

sys.path.insert(0, str(Path(__file__).parents[1] / "notebooks"))
from course import ASKED, CHECKED, NAMES, Notebook, points, revealed, right

from kitlib.lab.lessons import content

WALKED = NAMES if os.environ.get("KITLIB_NIGHTLY") else ["02-qos-classes-and-the-tree"]
WRONG = "answer = 'a guess'"


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    with restored(browser, tmp_path_factory.mktemp("walk")) as made:
        yield made


class Walk(OpenNotebook):
    """A notebook of the course, and the learner in front of it."""

    def __init__(self, visit: Visit, name: str) -> None:
        super().__init__(visit.page, f"notebooks/{name}.ipynb")
        self.name, self.known = name, right(name, simulated=True)

    def guess(self, index: int, key: str) -> None:
        """Answer a question in its own form; the answer is not there yet."""
        group = self.cell(index).get_by_role("group").first
        group.wait_for()
        answer = self.known[key]
        if group.get_by_role("radio").count():
            group.get_by_role("radio", name=str(answer), exact=True).check()
        else:
            group.get_by_role("textbox").fill(str(answer))
            group.get_by_role("textbox").press("Tab")
        self.cell(index).get_by_text("Kept. The answer follows below.").first.wait_for()
        assert not self.cell(index).locator(".kitlib-verdict").count(), (
            f"{self.name}: {key} is answered before the guess"
        )

    def exercise(self, index: int, key: str) -> None:
        """Left alone it says what to do, a wrong answer gets a hint, the solution is right."""
        self.cell(index).get_by_text("Your turn.").first.wait_for()
        for code, said in ((WRONG, "Not yet."), (content(self.name).exercises[key].solution.strip(), "Right.")):
            self.write(index, f'{code}\nlesson.check("{key}", answer)')
            self.run(index)
            self.cell(index).get_by_text(said).first.wait_for()

    def play(self, index: int) -> None:
        """Move the first slider of a cell's widget by keyboard."""
        sliders = self.cell(index).locator(".jp-OutputArea input[type=range]:enabled:visible")
        if sliders.count():
            sliders.first.focus()
            self.page.keyboard.press("ArrowRight")


@pytest.mark.parametrize("name", WALKED)
def test_a_learner_walks_through_a_notebook_with_keyboard_and_mouse(visit, name):
    walk, asked, answered = Walk(visit, name), set(), set()
    assert walk.length() == len(Notebook(name).cells)
    for index in range(walk.length()):
        source = walk.state(index)["source"]
        if walk.run(index)["type"] != "code":
            continue
        for key in ASKED.findall(source):
            walk.guess(index, key)
            asked.add(key)
        for key in revealed(source):
            walk.cell(index).locator(".kitlib-verdict", has_text="Right.").first.wait_for()
            answered.add(key)
        for key in CHECKED.findall(source):
            walk.exercise(index, key)
        walk.play(index)
    assert asked == answered == set(walk.known)
    assert points(visit.progress, name, simulated=True) == dict.fromkeys(asked, 1.0)
    assert not visit.errors and not visit.outside(), (visit.errors, visit.outside())
    walk.close()
