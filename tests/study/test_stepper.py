"""The steps of a decision, one after the other."""

from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.stepper import Stepper
from tests.scheduler.builders import node, pod, profile


class Recorder(Plugin):
    name = "Recorder"

    def _say(self, point):
        if self.arguments.get("refuse") == point:
            return Status(Code.Unschedulable, (f"no at {point}",))
        return SUCCESS

    def reserve(self, info, node):
        return self._say("Reserve")

    def unreserve(self, info, node):
        """It is written down by the binding cycle."""

    def permit(self, info, node):
        if self.arguments.get("refuse") == "wait":
            return Status(Code.Wait, ("wait for the others",))
        return self._say("Permit")

    def pre_bind(self, info, node):
        return self._say("PreBind")

    def bind(self, info, node):
        return self._say("Bind")

    def post_bind(self, info, node):
        """It is written down by the binding cycle."""


def recording(refuse=""):
    return profile(Recorder, pluginConfig=[{"name": "Recorder", "args": {"refuse": refuse}}])


def test_the_steps_of_a_placed_pod_go_on_to_the_end_of_the_binding_cycle():
    steps = Stepper(Scheduler([node("a")], profile=recording()).schedule(pod("p")))
    said = [(step.point, step.plugin) for step in steps.steps if step.point in ("Permit", "Bind", "PostBind")]
    assert said == [("Permit", "Recorder"), ("Bind", "DefaultBinder"), ("PostBind", "Recorder")]
