"""NodeName: a pod that names its node runs there or nowhere.

Source: plugins/nodename.
"""

from __future__ import annotations

from typing import Any

from kitlib.scheduler.framework.plugin import Context, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts


class NodeName(Plugin):
    """A pod that names its node runs there or nowhere."""

    name = "NodeName"
    depends_on = "node"

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        wanted = info.pod.spec.node_name
        if wanted:
            others = rows != context.snapshot.index.get(wanted, -1)
            found.reject(others, Code.UnschedulableAndUnresolvable, "node(s) didn't match the requested node name")
        return found
