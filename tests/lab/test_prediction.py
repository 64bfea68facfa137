"""A prediction is asked before the answer shows, kept, and scored once."""

import pytest

from kitlib.lab.prediction import Prediction
from kitlib.lab.progress import Progress


@pytest.fixture
def progress(tmp_path):
    return Progress(tmp_path)


def test_a_right_choice_scores_one_point(progress):
    prediction = Prediction("05", "first", "Who dies first?", choices=["a", "b"], progress=progress)
    prediction.answer("b")
    verdict = prediction.observe("b", "Its badness is higher.")
    assert verdict.right and "Right. Its badness is higher." in str(verdict)
    assert progress.score("05") == (1, 1)


def test_only_the_first_answer_counts(progress):
    prediction = Prediction("05", "first", "Who dies first?", choices=["a", "b"], progress=progress)
    prediction.answer("a")
    prediction.observe("b")
    prediction.answer("b")
    prediction.observe("b")
    assert progress.score("05") == (0, 1)


def test_a_number_is_right_within_its_tolerance(progress):
    prediction = Prediction("03", "share", "What part?", unit="%", tolerance=0.05, progress=progress)
    prediction.answer("90")
    assert prediction.observe(91).right
    prediction.answer("80")
    assert not prediction.observe(91).right


def test_no_answer_is_no_error_and_earns_nothing(progress):
    verdict = Prediction("03", "share", "What part?", progress=progress).observe(91)
    assert not verdict.right and str(verdict).startswith("You made no prediction. Observed: 91.")
    assert progress.score("03") == (0, 1)


def test_an_answer_that_is_no_number_names_itself(progress):
    with pytest.raises(ValueError, match="share: 'many' is not a number"):
        Prediction("03", "share", "What part?", progress=progress).answer("many")


def test_an_answer_off_the_list_names_the_answers(progress):
    with pytest.raises(ValueError, match="none of the answers: a, b"):
        Prediction("03", "q", "Which?", choices=["a", "b"], progress=progress).answer("c")


def test_markup_in_a_question_is_shown_as_text(progress):
    bundle = Prediction("1", "q", "<b>?", choices=["<i>"], progress=progress)._repr_mimebundle_()
    assert "<i>" not in bundle["text/html"] and "&lt;b&gt;?" in bundle["text/html"]


def test_an_answer_that_is_given_after_the_observed_value_was_shown_does_not_count(progress):
    """Until this release it did: one could look first and then score."""
    Prediction("lab", "n", "How many?", progress=progress).observe(3)
    assert progress.score("lab") == (0.0, 1.0)
    asked = Prediction("lab", "n", "How many?", progress=progress)
    asked.answer(3)
    assert str(asked.observe(3)).startswith("You predicted 3; observed: 3.")
    assert progress.score("lab") == (0.0, 1.0)


def test_a_reveal_waits_for_an_answer_and_then_shows_itself(progress):
    asked = Prediction("lab", "n", "How many?", progress=progress)
    shown = asked.reveal(3, "The rule.")
    assert shown.verdict is None and "observed" not in str(shown) and "The rule" not in str(shown._repr_mimebundle_())
    assert list(progress.entries()) == []
    asked.answer(3)
    assert shown.verdict is not None and shown.verdict.right and "The rule." in str(shown)
    asked.answer(4)
    assert shown.verdict.predicted == 3
    assert progress.score("lab") == (1.0, 1.0)


def test_who_does_not_know_sees_the_answer_and_gets_no_point(progress):
    asked = Prediction("lab", "n", "How many?", progress=progress)
    shown = asked.reveal(3, "The rule.", "a + b")
    box = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in box
    asked.give_up()
    assert "Observed: 3. The rule." in str(shown) and "a + b" in shown._repr_mimebundle_()["text/html"]
    asked.answer(3)
    assert progress.score("lab") == (0.0, 1.0)
