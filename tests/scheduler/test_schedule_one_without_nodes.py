"""A cluster without nodes: no plugin is asked, nothing is preempted, and the pod is tried again by and by."""

import pytest

from kitlib.scheduler.driver import Driver
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of
from kitlib.study.stepper import steps

SAID = "no nodes available to schedule pods"


@pytest.mark.parametrize("release", ["1.23", "1.26", "1.36"])
def test_it_is_said_as_kubernetes_says_it(release):
    decision = Scheduler([], release=release).schedule(pod_of({"name": "p", "priority": 9, "cpu": 1}))
    assert decision.message == SAID
    assert decision.post_filter is None
    assert decision.unschedulable_plugins == [] and not decision.failed
    assert decision.explain() == f"Pod default/p: {SAID}."
    assert [(step.point, step.text) for step in steps(decision)] == [("Snapshot", SAID)]


def test_it_is_tried_again_after_its_back_off_as_no_plugin_waits_for_an_event():
    work = Driver([], [pod_of({"name": "p"})])
    work.run(3)
    tries = [entry.time_ms for entry in work.log if entry.reason == "FailedScheduling"]
    assert len(tries) >= 2
    assert {entry.message for entry in work.log if entry.reason == "FailedScheduling"} == {SAID}
    work.add_node(node_of({"name": "n"}))
    work.run(10)
    assert work.pod("p").spec.node_name == "n"
