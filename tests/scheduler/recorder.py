"""A plugin at every point of the binding cycle, which refuses where it is told to."""

from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from tests.scheduler.builders import profile


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
