"""While a question waits, what cells show waits: in a real shell, as "Run All" leaves it and as a learner fills it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from kitlib.charts.usage import usage_chart
from kitlib.cluster import Cluster
from kitlib.lab import Lesson, gate, pod, table
from kitlib.lab.progress import Progress
from kitlib.views import pods_frame, tree_view
from kitlib.views.notebook import register

HELD = "This is shown when you have answered the question"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made = InteractiveShell.instance()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: made)
    register(made)
    yield made
    InteractiveShell.clear_instance()


@pytest.fixture
def lesson(shell: Any, tmp_path: Path) -> Lesson:
    return Lesson("test", "simulated", progress=Progress(tmp_path))


def shown(shell: Any, value: Any) -> str:
    """What the file of a notebook keeps of a cell that ends with this value."""
    with capture_output() as captured:
        data, _ = shell.display_formatter.format(value)
    return str(data) + captured.stdout + str([output.data for output in captured.outputs])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with Cluster.simulated(1) as made:
        made.apply(pod("forty-one"))
        made.advance(3)
        yield made


VIEWS = {
    "table": lambda cluster: table({"answer": "forty-one"}),
    "tree": lambda cluster: tree_view(cluster.node().tree()),
    "plain tree": lambda cluster: cluster.node().tree(),
    "frame": pods_frame,
    "manifest": lambda cluster: cluster.pod("forty-one"),
    "list of objects": lambda cluster: cluster.pods(),
    "cluster": lambda cluster: cluster,
    "chart": lambda cluster: usage_chart([0, 1, 2], {"forty-one": [1, 2, 3]}, title="forty-one"),
}


@pytest.mark.parametrize("view", VIEWS)
def test_each_kind_of_view_waits_for_the_questions_asked_before_it(
    view: str, shell: Any, lesson: Lesson, cluster: Any
) -> None:
    part = VIEWS[view](cluster)
    before = shown(shell, part)
    first, second = lesson.ask("a", "How many?", unit="pods"), lesson.ask("b", "Which?", choices=["x", "y"])
    hidden = shown(shell, part)
    assert "forty-one" not in hidden and HELD in hidden
    first.answer(1)
    assert "forty-one" not in shown(shell, part)
    second.give_up()
    assert shown(shell, part).replace(" ", "") == before.replace(" ", "")
    assert "forty-one" in before or view == "cluster"


def test_a_learners_own_values_questions_and_widgets_do_not_wait(shell: Any, lesson: Lesson) -> None:
    import ipywidgets

    asked = lesson.ask("a", "How many?", unit="pods")
    assert "forty-one" in shown(shell, "forty-one") and "41" in shown(shell, [41])
    for part in (asked, lesson, lesson.reveal("a", 1), ipywidgets.HTML("x")):
        assert HELD not in shown(shell, part)


def test_printed_lines_wait_like_tables(shell: Any, lesson: Lesson, capsys: pytest.CaptureFixture[str]) -> None:
    lesson.print("forty", "one")
    assert capsys.readouterr().out == "forty one\n"
    asked = lesson.ask("a", "How many?", unit="pods")
    with capture_output() as captured:
        lesson.print("forty", "one")
    assert "forty" not in captured.stdout + str([one.data for one in captured.outputs])
    asked.give_up()
    lesson.print("forty", "one", sep="\n")
    assert capsys.readouterr().out == "forty\none\n"


def test_an_experiment_whose_question_has_its_guess_is_shown_while_another_question_waits(
    shell: Any, lesson: Lesson
) -> None:
    first = lesson.ask("a", "How many?", unit="pods")
    lesson.ask("b", "Which?", choices=["x", "y"])
    run = lesson.experiment("a", lambda: 41, show=lambda found: table({"answer": "forty-one"}))
    first.answer(41)
    assert "forty-one" in shown(shell, run) and HELD in shown(shell, table({"answer": "forty-one"}))


def test_the_place_of_a_view_is_filled_by_the_last_guess(shell: Any, lesson: Lesson, cluster: Any) -> None:
    import ipywidgets

    asked = lesson.ask("a", "How many?", unit="pods")
    widget = ipywidgets.HTML("forty-one")
    parts = [*(make(cluster) for make in VIEWS.values()), "forty-one", widget]
    output = gate.GatedOutput([asked], lambda: parts)
    with capture_output():
        output.show()
    (waiting,) = output._box.children
    assert "forty-one" not in str([getattr(one, "value", "") for one in waiting.children])
    asked.give_up()
    assert len(output._box.children) == len(parts) and output._box.children[-1] is widget
    assert all("<" in one.value for one in output._box.children[:-1])


def test_a_second_lesson_of_the_same_notebook_is_the_one_that_counts(
    shell: Any, lesson: Lesson, tmp_path: Path
) -> None:
    lesson.ask("a", "How many?", unit="pods")
    again = Lesson("test", "simulated", progress=Progress(tmp_path))
    asked = again.ask("a", "How many?", unit="pods")
    assert HELD in shown(shell, table({"a": 1}))
    asked.answer(1)
    assert HELD not in shown(shell, table({"a": 1}))


def test_for_a_trainer_nothing_waits(shell: Any, tmp_path: Path) -> None:
    lesson = Lesson("test", "simulated", progress=Progress(tmp_path), answers="shown")
    lesson.ask("a", "How many?")
    assert "forty-one" in shown(shell, table({"answer": "forty-one"}))
