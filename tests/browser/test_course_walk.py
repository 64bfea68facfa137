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
from visits import Visit, kitlib_lab

sys.path.insert(0, str(Path(__file__).parents[1] / "notebooks"))
from course import ASKED, CHECKED, NAMES, REVEALED, Notebook, points, right

from kitlib.lab.lessons import content

WALKED = NAMES if os.environ.get("KITLIB_NIGHTLY") else ["02-qos-classes-and-the-tree"]
WRONG = "answer = 'a guess'"
STATE = """index => {
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[index];
  const outputs = cell.model.type === "code" ? cell.model.outputs.toJSON() : [];
  return { type: cell.model.type, source: cell.model.sharedModel.getSource(), count: cell.model.executionCount ?? null,
           running: cell.model.executionState === "running", outputs };
}"""


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    with kitlib_lab(folder) as address:
        made = Visit(browser, address, reduced_motion="reduce")
        made.progress = folder / "progress"
        made.enter()
        made.page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)", timeout=90_000)
        yield made
        made.page.close()


class Walk:
    """A notebook that is open in JupyterLab, and the learner in front of it."""

    def __init__(self, visit: Visit, name: str) -> None:
        self.page, self.name = visit.page, name
        self.known = right(name, simulated=True)
        self.page.evaluate(
            "path => void window.jupyterapp.commands.execute('docmanager:open', { path })", f"notebooks/{name}.ipynb"
        )
        self.page.wait_for_function(
            "name => window.jupyterapp.shell.currentWidget?.context?.path.endsWith(name + '.ipynb')", arg=name
        )
        self.page.evaluate(
            """async () => {
              const { content, context, sessionContext } = window.jupyterapp.shell.currentWidget;
              await context.ready;
              await sessionContext.ready;
              content.activeCellIndex = 0;
              content.mode = "command";
              content.activate();
            }"""
        )

    def state(self, index: int) -> dict:
        return self.page.evaluate(STATE, index)

    def length(self) -> int:
        return self.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length")

    def cell(self, index: int):
        """The cell in the page, scrolled into view."""
        self.page.evaluate(
            "async index => { await window.jupyterapp.shell.currentWidget.content.scrollToItem(index, 'start'); }",
            index,
        )
        return self.page.locator(f".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell[data-windowed-list-index='{index}']")

    def run(self, index: int) -> dict:
        """Shift+Enter in a cell, and what it has when it has run."""
        before = self.state(index)["count"]
        self.page.evaluate(
            """index => {
              const { content } = window.jupyterapp.shell.currentWidget;
              content.activeCellIndex = index;
              content.mode = "command";
              content.activate();
            }""",
            index,
        )
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(
            f"([index, before]) => {{ const now = ({STATE})(index);"
            " return now.type !== 'code' || !now.running && now.count !== null && now.count !== before; }",
            arg=[index, before],
            timeout=120_000,
        )
        now = self.state(index)
        wrong = [one for one in now["outputs"] if one["output_type"] == "error" or one.get("name") == "stderr"]
        assert not wrong, (self.name, index, wrong)
        return now

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
        self.cell(index).get_by_text("Kept. Run the next cell to see.").first.wait_for()
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

    def write(self, index: int, code: str) -> None:
        """Put code in a cell's place, as one pastes it."""
        self.cell(index).locator(".cm-content").first.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(code)
        assert self.state(index)["source"] == code

    def play(self, index: int) -> None:
        """Move the first slider of a cell's widget by keyboard."""
        sliders = self.cell(index).locator(".jp-OutputArea input[type=range]:enabled:visible")
        if sliders.count():
            sliders.first.focus()
            self.page.keyboard.press("ArrowRight")


@pytest.mark.parametrize("name", WALKED)
def test_a_learner_walks_through_a_notebook_with_keyboard_and_mouse(visit, name):
    walk, asked, revealed = Walk(visit, name), set(), set()
    assert walk.length() == len(Notebook(name).cells)
    for index in range(walk.length()):
        source = walk.state(index)["source"]
        if walk.run(index)["type"] != "code":
            continue
        for key in ASKED.findall(source):
            walk.guess(index, key)
            asked.add(key)
        for key in REVEALED.findall(source):
            walk.cell(index).locator(".kitlib-verdict", has_text="Right.").first.wait_for()
            revealed.add(key)
        for key in CHECKED.findall(source):
            walk.exercise(index, key)
        walk.play(index)
    assert asked == revealed == set(walk.known)
    assert points(visit.progress, name, simulated=True) == dict.fromkeys(asked, 1.0)
    assert not visit.errors and not visit.outside(), (visit.errors, visit.outside())
    visit.page.evaluate(
        """async () => {
          const shown = window.jupyterapp.shell.currentWidget;
          await shown.sessionContext.shutdown();
          shown.context.model.dirty = false;
          shown.close();
        }"""
    )
