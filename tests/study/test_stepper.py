"""The steps of a decision, one after the other."""

from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.stepper import Stepper
from tests.scheduler.builders import node, pod
from tests.scheduler.recorder import recording


def test_the_steps_of_a_placed_pod_go_on_to_the_end_of_the_binding_cycle():
    steps = Stepper(Scheduler([node("a")], profile=recording()).schedule(pod("p")))
    said = [(step.point, step.plugin) for step in steps.steps if step.point in ("Permit", "Bind", "PostBind")]
    assert said == [("Permit", "Recorder"), ("Bind", "DefaultBinder"), ("PostBind", "Recorder")]
