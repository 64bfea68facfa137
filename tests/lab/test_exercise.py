"""An exercise judges an answer and says what went wrong; without an answer it waits."""

import pytest

from kitlib.lab.exercise import Exercise, choice, judged, number

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
    assert "<details><summary>Hint</summary>Count the zeros." in wrong and "answer = 5e4" in wrong
    assert "Count the zeros." not in right and "<summary>A solution</summary>" in right
