"""Earlier questions come again with fresh numbers: the missed ones first, then the oldest."""

from random import Random

import pytest

from kitlib.lab.course_map import of_number
from kitlib.lab.drills import TOPICS
from kitlib.lab.launch import in_course
from kitlib.lab.lessons import content
from kitlib.lab.progress import Progress
from kitlib.lab.repetition import LAB, WarmUp, topics_before

BY_KEY = {topic.key: topic for topic in TOPICS}


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.key)
def test_a_topic_draws_questions_whose_answer_can_be_given(topic, tmp_path):
    texts = set()
    for seed in range(12):
        drill = topic.make(Random(seed))
        texts.add(drill.text)
        assert drill.why and (drill.answer in drill.choices if drill.choices else float(drill.answer) >= 0)
    assert len(texts) >= 2, "always the same numbers"


@pytest.mark.parametrize(
    ("key", "seed", "words", "answer"),
    [
        ("quota", 1, "300m", 30000),
        ("oom-score-adj", 1, "requests 3Gi on a machine of 4Gi", 250),
        ("kubepods-limit", 1, "8Gi reserves 1Gi", 7),
        ("skew", 1, "1, 0 and 2 matching pods", 2),
    ],
)
def test_answers_are_those_of_kubernetes(key, seed, words, answer):
    drill = BY_KEY[key].make(Random(seed))
    assert words in drill.text and drill.answer == answer


def test_only_what_was_taught_before_is_asked_and_what_was_missed_comes_first(tmp_path):
    progress = answered(tmp_path, "01", "02", "03", "04", "05", "06")
    assert {t.key for t in topics_before("02", progress)} == {"quota"}, "one question at a stop"
    assert all(t.notebook < "06" for t in topics_before("06", progress)) and len(topics_before("06", progress)) == 3
    progress.record("prediction", LAB, "quota#0", 0.0, 1.0)
    progress.record("prediction", LAB, "qos-class#0", 1.0, 1.0)
    first, *others = [t.key for t in topics_before("06", progress)]
    assert first == "quota" and "qos-class" not in others


def answered(folder, *numbers):
    """Progress of a learner who has answered the questions of these notebooks that the topics are about."""
    progress = Progress(folder)
    for topic in TOPICS:
        if topic.notebook in numbers:
            progress.record("prediction", of_number(topic.notebook), topic.question, 1, 1)
    return progress


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.key)
def test_the_notebook_of_a_topic_asks_its_question(topic):
    assert topic.question in content(in_course("notebooks", topic.notebook).stem).questions


@pytest.mark.parametrize(
    ("done", "notebook", "asked"),
    [
        ([], "01", set()),
        ([], "02", {"quota"}),
        ([], "03b", {"qos-class"}),
        ([], "05", set()),
        ([], "11", {"oom-score-adj"}),
        ([], "12", {"eviction-rank"}),
        ([], "10", set()),
        (["01"], "10", {"quota", "pod-request"}),
        (["05"], "12", {"oom-score-adj"}),
    ],
)
def test_a_learner_is_asked_what_they_have_met_else_what_the_previous_stop_asks(tmp_path, done, notebook, asked):
    assert {topic.key for topic in topics_before(notebook, answered(tmp_path, *done))} == asked
    assert str(WarmUp(notebook, Progress(tmp_path))).startswith("Do you remember?" if asked else "Answers of earlier")


def test_a_warm_up_asks_again_with_other_numbers_once_it_was_answered(tmp_path):
    progress = Progress(tmp_path)
    first = WarmUp("02", progress)
    assert [q.question for q in first.questions] == [q.question for q in WarmUp("02", progress).questions]
    assert all(reveal.verdict is None for reveal in first.reveals)
    for question in first.questions:
        question.give_up()
    assert all(reveal.verdict is not None for reveal in first.reveals)
    again = WarmUp("02", progress)
    assert {q.key for q in again.questions}.isdisjoint(q.key for q in first.questions)
    assert "application/vnd.jupyter.widget-view+json" in again._repr_mimebundle_()


def test_a_warm_up_shows_the_next_question_once_the_one_before_it_has_a_guess(tmp_path, monkeypatch):
    import ipywidgets

    made = []
    monkeypatch.setattr(ipywidgets.VBox, "_repr_mimebundle_", lambda self, **_: made.append(self) or {})
    warm_up = WarmUp("20", answered(tmp_path, "01", "02"))
    warm_up._repr_mimebundle_()
    _, *boxes = made[0].children

    def hidden():
        return [box.layout.display == "none" for box in boxes]

    assert hidden() == [False, True, True]
    warm_up.questions[0].give_up()
    assert hidden() == [False, False, True]
    warm_up.questions[1].give_up()
    assert hidden() == [False, False, False]
