"""A learner does a whole lab in JupyterLab: looks, guesses, a wrong answer and its hint, Start again, the right one.

The manifests are edited in the workbench and applied with its button; what no manifest says (a file written by hand, a
resize, a drain) is typed into a cell. What is tried comes from the lab's own list of answers. In the gate one lab, in
the nightly form all of them, on one server and in one page.
"""

from __future__ import annotations

import copy
import os
import re
from typing import Any

import pytest
import yaml
from fronts import ROOT
from visits import OpenNotebook, Visit, restored

from kitlib.api.serialize import load_data
from kitlib.lab.definition import LabFolder, fill
from kitlib.lab.fields import put
from kitlib.lab.progress import Progress
from kitlib.lab.score import score
from kitlib.lab.workbench import WAITS

SEED = 3
LABS = sorted(path.parent.name for path in (ROOT / "labs").glob("*/lab.toml"))
WALKED = LABS if os.environ.get("KITLIB_NIGHTLY") else ["07-by-hand"]
UNTOUCHED = "nothing has been changed yet"
PREDICTS, REVEALS = re.compile(r'lab\.predict\("(\w+)"\)'), re.compile(r'lab\.reveal\("(\w+)"\)')
Step = dict[str, Any]


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    with restored(browser, tmp_path_factory.mktemp("labs"), KITLIB_LAB_SEED=str(SEED)) as made:
        yield made


def edited(manifests: str, steps: list[Step]) -> str:
    """The manifests of the workbench that are changed; the others are left out, so that their pods stay."""
    documents = [load_data(text) for text in manifests.split("\n---\n")]
    by_name = {f"{one['kind']} {one['metadata']['name']}": one for one in documents}
    for step in steps:
        for path, value in (step.get("set") or {}).items():
            put(by_name[step["change"]], path, copy.deepcopy(value))
    changed = dict.fromkeys(step["change"] for step in steps)
    return yaml.safe_dump_all([by_name[name] for name in changed], sort_keys=False)


def typed(step: Step) -> str:
    """What a learner writes into a cell for a step that is no edit of a manifest."""
    kind, about = next(iter(step.items()))
    if kind == "wait":
        return f"lab.cluster.advance({about})"
    if kind == "apply":
        return f"lab.cluster.apply({about!r})"
    if kind == "delete":
        return "lab.cluster.delete({!r}, {!r})".format(*about.split())
    if kind == "patch":
        return "lab.cluster.patch({!r}, {!r}, {!r})".format(*about.split(), step["with"])
    if kind == "resize":
        return f"lab.cluster.resize({about!r}, {step['containers']!r})"
    if kind == "drain":
        return f"from kitlib.study.drain import drain\ndrain(lab.cluster, {about!r}, at_most={step['for']})"
    if kind == "change":  # of the object as it is
        name = about.split()[1]
        lines = ["from kitlib.api.serialize import to_dict", f"made = to_dict(lab.cluster.get('Pod', {name!r}))"]
        return "\n".join([*lines, *(f"made['spec'][{key!r}] = {value!r}" for key, value in step["set"].items())]) + (
            "\nlab.cluster.apply(made)"
        )
    assert kind == "write", step
    which = f"c.container == {step['container']!r}" if "container" in step else "c.kind == 'pod'"
    return "\n".join(
        [
            f"pod = lab.cluster.get('Pod', {about!r})",
            "node = lab.cluster.node(pod.spec.node_name)",
            "tree = node.tree()",
            f"cgroup = next(c for c in tree.of_pod(pod.metadata.uid) if {which})",
            f"for file in {step['files']!r}[f'v{{tree.version}}']:",
            "    if file in cgroup:",
            f"        node.write(cgroup.path, file, {str(step['value'])!r})",
        ]
    )


class Bench(OpenNotebook):
    """A lab's notebook, and the learner in front of it."""

    def __init__(self, visit: Visit, name: str) -> None:
        super().__init__(visit.page, f"labs/{name}/lab.ipynb")
        self.index = self.scratch = 0

    @property
    def bench(self):
        return self.cell(self.index).get_by_role("group", name=re.compile("^Workbench"))

    def predict(self, index: int) -> None:
        """Any guess will do."""
        group = self.cell(index).get_by_role("group").first
        group.wait_for()
        if group.get_by_role("radio").count():
            group.get_by_role("radio").first.check()
        else:
            group.get_by_role("textbox").fill("1")
            group.get_by_role("textbox").press("Tab")
        self.cell(index).get_by_text("Kept. The answer follows below.").first.wait_for()

    def press(self, name: str, said: str) -> None:
        """A button, and what is said then; what was said before does not count."""
        self.bench.evaluate("bench => bench.querySelectorAll('[role=status]').forEach(one => one.remove())")
        self.bench.get_by_role("button", name=name, exact=True).click()
        self.bench.get_by_text(said).first.wait_for()

    def type(self, code: str) -> None:
        """Run code in a cell of the learner's own below the workbench."""
        if not self.scratch:
            self.select(self.index)
            self.page.evaluate(
                "async () => { await window.jupyterapp.commands.execute('notebook:insert-cell-below'); }"
            )
            self.scratch = self.index + 1
        self.write(self.scratch, code)
        self.run(self.scratch)

    def do(self, steps: list[Step]) -> None:
        """One answer, from the lab as it was found."""
        again = {step["change"] for step in steps if step.get("again")}
        steps = [step for step in steps if step.get("delete") not in again]  # Apply deletes them, too
        edits = [
            one for one in steps if "change" in one and not (one.get("update") and one["change"].startswith("Pod"))
        ]
        applied = False  # a button's words are looked for where they cannot be those of before
        for step in steps:
            if step in edits:
                if step is edits[0]:
                    editor = self.bench.locator("textarea")
                    editor.fill(edited(editor.input_value(), edits))
                    self.press("Apply", "Applied.")
                    applied = True
            elif applied and step.get("wait") in WAITS:
                self.press(f"Wait {step['wait']} s", f"{step['wait']} s later.")
                applied = False
            else:
                self.type(typed(step))

    def says(self) -> str:
        """What the check says of the tasks that are not solved yet."""
        self.press("Check", "This time")
        return self.bench.locator(".kitlib-graded").inner_text()


@pytest.mark.parametrize("name", WALKED)
def test_a_learner_does_a_lab_with_keyboard_and_mouse(visit, name):
    folder = LabFolder.read(ROOT / "labs" / name, SEED)
    answers = load_data(fill((folder.path / "solution" / "answers.yaml").read_text(), folder.variant, name), name)
    wrong = next(one for one in answers["wrong"] if one["says"] != UNTOUCHED)
    lab, index = Bench(visit, name), 0
    cells = lab.length()  # a cell that is run as the last one gets an empty one below it
    while index < cells + bool(lab.scratch):
        source = lab.state(index)["source"]
        if lab.run(index)["type"] == "code":
            if PREDICTS.match(source):
                lab.predict(index)
            if REVEALS.match(source):
                lab.cell(index).get_by_text(re.compile("You predicted")).first.wait_for()
            if source == "lab.edit()":
                lab.index = index
                assert UNTOUCHED in lab.says()
                for steps, words in ((wrong["steps"], wrong["says"]), (answers["reference"], "Solved.")):
                    lab.press("Start again", "A new cluster, as you found the first one.")
                    lab.do(steps)
                    said = lab.says()
                    assert words in said and ("Solved." in said) == (words == "Solved."), said
                index = lab.scratch or index
        index += 1
    reached = score(Progress(visit.progress), name, folder.definition)
    assert reached.best == reached.last == reached.of
    assert not visit.errors and not visit.outside(), (visit.errors, visit.outside())
    lab.close()
