"""An exercise judges an answer and says what went wrong; without an answer it waits."""

import pytest

from kitlib.lab import Lesson
from kitlib.lab.exercise import Exercise, choice, judged, number
from kitlib.lab.progress import Progress

HALF = Exercise(
    "half", "Count the zeros.", number(50000, {500: "That is the limit."}, otherwise="Too far."), "answer = 5e4", "Yes."
)
WORD = Exercise("word", "", choice("the kernel", {"the kubelet": "It only watches."}, otherwise="No."), "answer = 'x'")


@pytest.mark.parametrize(
    ("exercise", "answer", "right", "said"),
    [
        (HALF, ..., None, "Replace the three dots"),
        (HALF, 50000.0, True, "Yes."),
        (HALF, "50000", True, "Yes."),
        (HALF, 500, False, "That is the limit."),
        (HALF, 1, False, "Too far."),
        (HALF, "many", False, "cannot be read (ValueError"),
        (WORD, " The  Kernel", True, ""),
        (WORD, "the kubelet", False, "It only watches."),
        (WORD, 7, False, "No."),
    ],
)
def test_an_answer_is_judged_with_a_hint_by_what_went_wrong(exercise, answer, right, said):
    made = judged(exercise, answer, None)
    assert made.right is right and said in str(made)


def test_hint_and_solution_are_folded_and_no_hint_stands_beside_a_right_answer():
    wrong, right = judged(HALF, 1, None)._repr_html_(), judged(HALF, 50000, None)._repr_html_()
    assert "<details><summary>Hint</summary>Count the zeros." in wrong and "answer = 5e4" not in wrong
    assert "Count the zeros." not in right and "<summary>A solution</summary>" in right


def test_a_solution_is_shown_after_two_honest_tries(tmp_path):
    """The same answer twice, an unreadable one and another exercise's are no try; a new kernel remembers."""
    lesson = Lesson("11", "simulated", progress=Progress(tmp_path))
    shown = [
        "<summary>A solution" in lesson.check(key, answer)._repr_html_()
        for key, answer in [("grace", ...), ("grace", 20), ("grace", 20), ("grace", "a few"), ("reclaim", 60)]
    ]
    assert shown == [False] * 5
    again = Lesson("11", "simulated", progress=Progress(tmp_path))
    assert "<summary>A solution" in again.check("grace", 10)._repr_html_()
    assert "<summary>A solution" not in again.check("reclaim", 60)._repr_html_()


def test_a_trainer_sees_solutions_at_once(tmp_path):
    lesson = Lesson("11", "simulated", progress=Progress(tmp_path), answers="shown")
    assert "<summary>A solution" in lesson.check("grace")._repr_html_()
