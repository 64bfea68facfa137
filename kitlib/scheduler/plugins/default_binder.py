"""DefaultBinder: the plugin that binds a pod to its node; here the scheduler's caller writes the binding.

Source: plugins/defaultbinder.
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.core import Node
from kitlib.scheduler.framework.events import Registered
from kitlib.scheduler.framework.plugin import Context, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import SUCCESS, Status


class DefaultBinder(Plugin):
    """The plugin that binds every pod that no other Bind plugin has bound."""

    name = "DefaultBinder"

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return []

    def bind(self, info: PodInfo, node: Node) -> Status:
        return SUCCESS
