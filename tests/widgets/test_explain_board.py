"""The explain board without a page: a dump is pasted or loaded, a pod explained, remedies found, names hidden."""

from datetime import UTC, datetime

import pytest

from kitlib.advisor.dump import Dump
from kitlib.api.serialize import to_yaml
from kitlib.examples.stories import story
from kitlib.widgets.explain_board import ExplainBoard


@pytest.fixture
def text():
    told = story("affinity-side-effect")
    return to_yaml([*told.nodes, *told.pods])


def test_a_pasted_dump_is_explained(text):
    board = ExplainBoard()
    assert "Paste or load" in board.sentence
    board.text.value = text
    board.read.click()
    assert board.problem == ""
    assert board.pod.value == "default/test"
    assert board.sentence.endswith("Pod default/test: 0 of 4 nodes pass every filter.")
    assert "0/4 nodes are available" in board._stages.value  # the event, once
    assert board.grid.rows == ["worker", "worker2", "worker3", "worker4"]


def test_a_refusal_says_why_at_its_cell_once_for_each_reason_of_a_plugin(text):
    marks = [[cell[0] for cell in row] for row in ExplainBoard(text).grid.cells]
    assert [row[5] for row in marks[:2]] == ["✗ didn't match pod topology spread constraints", "✗"]
    assert marks[2][4] == "✗ Insufficient cpu" and marks[3][3] == "✗✗ didn't match Pod's node affinity/selector"


def test_the_stage_that_holds_the_pod_is_shown(text):
    board = ExplainBoard(text)
    assert board.sentence.startswith("Pod default/test is held at the stage filters")
    assert "<strong>filters</strong>" in board._stages.value
    board.redact.value = True
    assert "worker" not in board._stages.value


def test_a_gated_pod_is_held_by_its_gate(text):
    gated = text.replace("spec:\n  containers:", "spec:\n  schedulingGates:\n  - name: example.com/gate\n  containers:")
    board = ExplainBoard(gated, "default/test")
    assert "is held at the stage gate" in board.sentence and "example.com/gate" in board._stages.value


def test_what_would_help_is_tried(text):
    board = ExplainBoard(Dump.read(text))
    board.helps.click()
    assert "raise maxSkew of topology.kubernetes.io/zone to 2: it goes to worker" in board._answer.value
    board.release.value = "1.23"
    assert board._answer.value == ""
    board.helps.click()
    assert "It fits as it is" in board._answer.value


def test_how_many_more_fit(text):
    board = ExplainBoard(text, release="1.23")
    board.count.click()
    assert "more fit: worker" in board._answer.value and "Then: 0/4 nodes" in board._answer.value


def test_names_are_hidden(text):
    board = ExplainBoard(text)
    board.redact.value = True
    board.helps.click()
    shown = board.sentence + str(board.grid.rows) + str(board.grid.cells) + board._answer.value + str(board.frame())
    assert "worker" not in shown
    assert "topology.kubernetes.io/zone" in shown


def test_a_file_is_loaded(text):
    board = ExplainBoard()
    now = datetime(2026, 1, 5, tzinfo=UTC)
    loaded = {"name": "x.yaml", "type": "", "size": len(text), "content": text.encode(), "last_modified": now}
    board.file.value = (loaded,)
    assert board.pod.value == "default/test"


@pytest.mark.parametrize(
    ("pasted", "problem"),
    [
        ("", "paste what this prints: kubectl get nodes"),
        ("a: b", "not a Kubernetes object"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", "the input contains no Node"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n", "there is no Pod in it"),
        ("{", "the JSON is cut off"),
    ],
)
def test_what_cannot_be_read_is_said(pasted, problem):
    board = ExplainBoard()
    board.text.value = pasted
    board.read.click()
    assert problem in board.problem
    assert "Paste or load" in board.sentence


def test_without_a_dump_the_buttons_say_so():
    board = ExplainBoard()
    board.helps.click()
    assert "no objects have been read yet" in board.problem


def test_another_pod_and_its_figure(text):
    board = ExplainBoard(text, "pod1")
    assert list(board.pod.options) == ["default/test", "default/pod1"]
    assert "pod default/pod1" in board.sentence.lower()
    assert board.figure().data[0].type == "heatmap"
    assert "<svg" in board._repr_mimebundle_()["text/html"]


def test_a_running_cluster_is_asked_with_its_own_release(text, monkeypatch):
    asked = []

    def read(kubeconfig="", *, context="", **_):
        asked.append(context)
        dump = Dump.read(text, release="1.24")
        dump.left_out = "services: they may not be listed"
        return dump

    monkeypatch.setattr("kitlib.advisor.live_cluster.read_cluster", read)
    board = ExplainBoard()
    board.context.value = " prod "
    board.ask.click()
    assert (asked, board.release.value, board.problem) == (["prod"], "1.24", "")
    assert "Not looked at: services: they may not be listed." in board.sentence


def test_a_cluster_that_cannot_be_asked_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    board = ExplainBoard()
    board.context.value = "nowhere"
    board.ask.click()
    assert "kubeconfig" in board.problem or "pip install" in board.problem


def test_an_example_is_there_to_begin_with():
    board = ExplainBoard()
    assert board.grid.layout.display == "none"  # no empty board with help for it
    board.example.click()
    assert "0 of 4 nodes pass every filter" in board.sentence and board.problem == ""
    assert board.grid.layout.display == ""
