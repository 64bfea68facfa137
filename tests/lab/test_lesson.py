"""A lesson says which kernel it runs on, makes clusters there, and ends them."""

import json
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import Lesson
from kitlib.lab import lesson as room
from kitlib.lab.progress import Progress


@pytest.fixture
def made(tmp_path):
    return lambda *args, **more: Lesson("test", *args, progress=Progress(tmp_path), **more)


def no_nodes(nodes=1, **settings):
    raise KitError("the image cannot be built: there is no network\nand more")


def test_a_choice_by_hand_is_kept_and_named(made, monkeypatch):
    monkeypatch.setenv("KITLIB_NODES", "docker")
    lesson = made("simulated")
    assert (lesson.kernel, lesson.why) == ("simulated", "chosen by hand")
    assert "The simulated kernel" in lesson._repr_html_()
    assert "Other choice" in lesson._repr_html_()
    bound = made("simulated", because="it needs 64 CPUs")
    assert bound.why == "it needs 64 CPUs"
    assert "Other choice" not in bound._repr_html_()


def test_a_question_that_stands_in_the_notebooks_file_is_not_shown_twice(made, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def labels():
        lesson = Lesson("05-who-dies-first", "simulated", progress=Progress(tmp_path))
        asked = [lesson.ask(key).widget() for key in ("first", "adj")]
        return [next(text for text in texts(box) if "<b>" in text) for box in asked]

    def texts(box):
        for one in box.children:
            yield from texts(one) if hasattr(one, "children") else [str(getattr(one, "value", ""))]

    assert labels()[0] == "<p><b>Predict:</b> When the pod honest needs 580 MiB, which pod does the kernel kill?</p>"
    cells = [{"cell_type": "markdown", "metadata": {"kitlib": {"question": "first"}}, "source": []}]
    (tmp_path / "05-who-dies-first.ipynb").write_text(json.dumps({"cells": [*cells, {"metadata": {}}]}))
    assert labels()[0] == "<p><b>Your guess:</b></p>" and "What is the oom_score_adj" in labels()[1]
    (tmp_path / "05-who-dies-first.ipynb").write_text("no notebook")
    assert labels()[0] == "<p><b>Predict:</b> When the pod honest needs 580 MiB, which pod does the kernel kill?</p>"


def test_without_a_choice_an_engine_that_answers_decides(made, monkeypatch):
    monkeypatch.delenv("KITLIB_NODES", raising=False)
    monkeypatch.setattr("kitlib.cluster.engine_answers", lambda: (True, "engine 28 answers"))
    assert (made().kernel, made().why) == ("docker", "engine 28 answers")
    monkeypatch.setattr("kitlib.cluster.engine_answers", lambda: (False, "no engine"))
    assert (made().kernel, made().why) == ("simulated", "no engine")


def test_where_real_nodes_cannot_be_made_the_notebook_goes_on_with_the_simulated_kernel(made, monkeypatch):
    monkeypatch.delenv("KITLIB_NODES", raising=False)
    monkeypatch.setattr("kitlib.cluster.engine_answers", lambda: (True, "engine 28 answers"))
    monkeypatch.setattr(Cluster, "docker", staticmethod(no_nodes))
    shown = []
    monkeypatch.setattr(room, "_show", shown.append)
    lesson = made()
    cluster = lesson.cluster(2)
    assert len(cluster.nodes) == 2 and lesson.kernel == "simulated" and shown == [lesson]
    assert lesson.why.endswith("the image cannot be built: there is no network")
    lesson.close()


def test_what_is_different_from_what_was_asked_for_is_shown_with_the_kernel(made, monkeypatch):
    def noted(nodes=1, **settings):
        cluster = Cluster.simulated(nodes)
        cluster.notes.append("plugins of your own run in this process, so the control plane <does> too")
        return cluster

    monkeypatch.setattr(Cluster, "docker", staticmethod(noted))
    shown = []
    monkeypatch.setattr(room, "_show", lambda one: shown.append(one._repr_html_()))
    lesson = made("docker")
    assert lesson.notes == [] and "in this process" not in lesson._repr_html_()
    lesson.cluster()
    assert "Plugins of your own run in this process, so the control plane &lt;does&gt; too." in shown[0]
    assert "(chosen by hand)" in shown[0]
    assert str(lesson).endswith("so the control plane <does> too.")
    lesson.close()
    assert lesson.notes == [] and "in this process" not in lesson._repr_html_()


def test_a_cluster_as_it_was_asked_for_is_not_announced_again(made, monkeypatch):
    shown = []
    monkeypatch.setattr(room, "_show", shown.append)
    lesson = made("simulated")
    assert lesson.cluster().notes == [] and not shown
    lesson.close()


def test_where_real_nodes_were_asked_for_by_hand_their_failure_is_an_error(made, monkeypatch):
    monkeypatch.setattr(Cluster, "docker", staticmethod(no_nodes))
    with pytest.raises(KitError, match="image cannot be built"):
        made("docker").cluster()


def test_a_new_cluster_ends_the_one_before(made):
    lesson = made("simulated")
    first = lesson.cluster()
    second = lesson.cluster()
    assert first is not second
    with pytest.raises(KitError):
        first.node()
    assert second.node().name == "node-1"


def test_a_real_node_gets_no_more_processors_than_the_machine_has(made, monkeypatch):
    monkeypatch.setattr("kitlib.cluster.engine_processors", lambda: 2)
    assert made("simulated").processors(8) == 8
    assert (made("docker").processors(8), made("docker").processors(1)) == (2, 1)
    monkeypatch.setattr("kitlib.cluster.engine_processors", lambda: 0)
    assert made("docker").processors(4) == 4


def test_systemd_runs_only_in_real_nodes_whose_image_is_there(made, monkeypatch):
    monkeypatch.setattr("kitlib.cluster.engine_has_systemd", lambda: True)
    assert made("docker").has_systemd() and not made("simulated").has_systemd()
    monkeypatch.setattr("kitlib.cluster.engine_has_systemd", lambda: False)
    assert not made("docker").has_systemd()


def test_a_closed_cluster_says_so_instead_of_taking_pods(made):
    cluster = made("simulated").cluster()
    cluster.close()
    for act in (lambda: cluster.apply([]), lambda: cluster.advance(1), lambda: cluster.delete("Pod", "a")):
        with pytest.raises(KitError, match="the cluster is closed"):
            act()


def test_a_lesson_waits_until_something_has_happened_and_not_for_ever(made):
    lesson = made("simulated")
    cluster = lesson.cluster()
    began = cluster.now()
    assert lesson.wait(lambda: (cluster.now() - began).total_seconds() >= 7, 60)
    assert 7 <= (cluster.now() - began).total_seconds() < 8
    assert not lesson.wait(lambda: False, 5)
    assert (cluster.now() - began).total_seconds() <= 13
    lesson.close()


def test_the_end_of_a_notebook_sums_up_and_leaves_the_cluster_open(made):
    lesson = made("simulated")
    cluster = lesson.cluster()
    lesson.ask("a", "Which?", choices=["x", "y"]).answer("x")
    lesson.reveal("a", "x")
    end = lesson.done()
    assert "Predictions: 1 of 1 right." in str(end) and "The cluster stays open" in end._repr_html_()
    assert cluster.node().name == "node-1"
    lesson.close()


def test_an_unknown_question_or_exercise_names_those_that_there_are(made):
    with pytest.raises(KitError, match="no question 'nope' in notebook test; valid values: none"):
        made("simulated").ask("nope")
    with pytest.raises(KitError, match="no exercise 'nope' in notebook test; valid values: none"):
        made("simulated").check("nope", 1)


def test_an_answer_to_a_question_that_was_not_asked_is_an_error(made):
    with pytest.raises(KitError, match="has not been asked"):
        made("simulated").reveal("never", 1)


def test_a_kernel_that_there_is_not_is_named(made):
    with pytest.raises(KitError, match="choose one of auto, docker, kubernetes, simulated"):
        made("podman")


def test_in_a_page_a_lesson_offers_nothing_that_a_page_cannot_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("kitlib.lab.lesson.sys.platform", "emscripten")
    monkeypatch.delenv("KITLIB_NODES", raising=False)
    lesson = Lesson("01", progress=Progress(tmp_path))
    shown = repr(lesson) + lesson._repr_html_()
    assert "Python runs in this page" in shown
    assert not [word for word in ("docker", "pip install", "Other choice", "engine") if word in shown]
    with pytest.raises(KitError, match="which can start no real nodes; omit the argument"):
        Lesson("01", "docker")
    with pytest.raises(KitError, match=r"browser's page here, which reaches no container engine"):
        Cluster.docker(1)
