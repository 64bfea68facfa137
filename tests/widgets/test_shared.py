"""A widget as a link: what was done in the page is done again elsewhere, and a hostile link reaches nothing else."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

import kitlib.widgets as w
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.shared import SharedState, converted, packed
from kitlib.lab import share
from kitlib.widgets.shared import MAX_STEPS, SharedScene, parts_of, place_of

WITH_A_CLUSTER = ("CgroupTreeExplorer", "CgroupWatch", "NodeBar", "Timeline")


def from_the_page(control, **values):
    """As the page sends it."""
    control.set_state(values)


def press(control, **message):
    control._handle_custom_msg(message or {"event": "click"}, [])


def again(widget):
    said = widget._access.shared()
    assert said["problem"] == ""
    assert "\n" not in said["code"] and said["fragment"].partition("=")[2] in said["code"]
    return share.opened(said["fragment"])


@pytest.mark.parametrize("name", w.WIDGETS)
def test_every_widget_can_be_shared_as_it_opens(name):
    cluster = Cluster.simulated(1, cpus=2, memory="2Gi")
    shown = getattr(w, name)(*([cluster] if name in WITH_A_CLUSTER else []))
    made = again(shown)
    assert type(made) is type(shown) and made.sentence == shown.sentence


def test_what_was_done_in_the_page_is_done_again():
    shown = w.SpreadExplorer("affinity-and-skew", release="1.23")
    press(shown.step)
    press(shown.board, act="press", box="worker2")
    for skew in (2, 3, 4):
        from_the_page(shown.max_skew, value=skew)
    made = again(shown)
    assert made.state == shown.state and made.sentence == shown.sentence
    assert made.max_skew.value == 4
    moves = [step for step in shown._recorder.steps if step.name == "maxSkew"]
    assert len(moves) == 1, "a slider that is moved on and on is one step"


def test_what_a_program_sets_is_not_what_a_learner_did():
    shown = w.SpreadExplorer()
    shown.max_skew.value = 5
    assert shown._recorder.steps == []


def test_rows_that_came_later_are_heard_too():
    shown = w.PodBuilder()
    press(shown.form._add)
    fields = [one for one in parts_of(shown) if getattr(one, "description", "") == "cpu limit"]
    assert len(fields) == 2
    from_the_page(fields[1], value="2")
    made = again(shown)
    assert made.form.yaml == shown.form.yaml and "'2'" in made.form.yaml


def test_the_cluster_of_a_widget_comes_along():
    with Cluster.simulated(2, cpus=4, memory="4Gi") as cluster:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
        cluster.apply({**pod, "spec": {"containers": [{"name": "c", "image": "x"}]}})
        cluster.advance(5)
        made = again(w.NodeBar(cluster))
        assert next(iter(made.made_with[1].values())).snapshot() == cluster.snapshot()


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (lambda: w.ExplainBoard("a: 1\nb: 2\n"), "source"),
        (lambda: w.SchedulerBoard(w.SchedulerBoard().decision), "Decision cannot be put"),
    ],
)
def test_what_cannot_be_told_in_a_link_is_said_in_the_panel(shown, says):
    said = shown()._access.shared()
    assert says in said["problem"] and said["fragment"] == said["code"] == ""


def test_a_dump_that_was_pasted_stays_on_the_machine():
    shown = w.ExplainBoard()
    from_the_page(shown.text, value="apiVersion: v1\nkind: Node\nmetadata: {name: secret-node}\n")
    press(shown.read)
    said = shown._access.shared()
    assert "cannot contain the input" in said["problem"] and "secret-node" not in json.dumps(said)


GOOD = {"version": 1, "widget": "SpreadExplorer"}


@pytest.mark.parametrize(
    ("scene", "says"),
    [
        ({**GOOD, "widget": "os"}, "Unsupported value"),
        ({**GOOD, "widget": "__init__"}, "Unsupported value"),
        ({**GOOD, "extra": 1}, "extra"),
        ({**GOOD, "version": 3}, "version|3"),
        ({**GOOD, "arguments": {"scenario": "/etc/passwd"}}, "scenario"),
        ({**GOOD, "arguments": {"scenario": "dump.yaml"}}, "scenario"),
        ({**GOOD, "arguments": {"self": 1}}, "self"),
        ({**GOOD, "arguments": {"zones": {"a": 1}}}, "arguments"),
        ({**GOOD, "arguments": {"zones": "many"}}, "SpreadExplorer"),
        ({**GOOD, "steps": [{"name": "nothing there"}]}, "nothing there"),
        ({**GOOD, "steps": [{"name": "maxSkew", "values": {"layout": 1}}]}, "layout"),
        ({**GOOD, "steps": [{"name": "maxSkew", "values": {"value": "many"}}]}, "maxSkew|value"),
        ({**GOOD, "steps": [{"name": "maxSkew"}] * (MAX_STEPS + 1)}, "steps"),
        ({"version": 1, "widget": "ExplainBoard", "arguments": {"source": "a\nb"}}, "source"),
        ({"version": 1, "widget": "ExplainBoard", "steps": [{"name": "Ask the cluster"}]}, "a link cannot change"),
        ({"version": 1, "widget": "ExplainBoard", "steps": [{"name": "what kubectl printed"}]}, "a link cannot change"),
        ({"version": 1, "widget": "PodBuilder", "arguments": {"manifest": "/etc/passwd"}}, "manifest"),
    ],
)
def test_a_hostile_link_is_refused_with_the_reason(scene, says):
    with pytest.raises(KitError, match=says):
        share.opened(packed_text(scene))


def packed_text(data):
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(data).encode())).decode().rstrip("=")


def test_a_control_is_found_by_its_label_wherever_it_stands():
    shown = w.SpreadExplorer()
    places = [place_of(shown, one) for one in parts_of(shown)]
    assert len(set(places)) == len(places)


def test_a_cluster_is_no_argument_of_a_widget_that_takes_none():
    state = {"version": 1, "release": "1.36", "cgroups": 2, "nodes": [{"name": "a", "cpus": 1, "memory": "1Gi"}]}
    cluster = converted({**state, "journal": []}, SharedState)
    text = packed(SharedScene(1, "SpreadExplorer", {}, cluster))
    with pytest.raises(KitError, match="does not show a cluster"):
        share.opened(text)
