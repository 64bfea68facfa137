"""The answers about one cluster for an assistant, as plain data; nothing is written.

    helper = Assistant(lambda: Dump.read("cluster.json"))
    helper.explain("job/train", namespace="ml")

`kitlib mcp` offers each public method as a tool, with its docstring as the description. Every answer has numbers, the
rules behind them, and the gaps. With `redact`, names are replaced by words such as `pod-17`, which questions may use
too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from kitlib.advisor.dump import Dump
from kitlib.advisor.explanation_text import as_data, in_text
from kitlib.advisor.message import decode
from kitlib.advisor.node_room import room_of
from kitlib.advisor.pod_usage import measured, stats_of
from kitlib.advisor.pressure import NodeUnderPressure, first_to_go
from kitlib.advisor.redact import Redactor
from kitlib.advisor.report import as_data as report_data
from kitlib.advisor.report import report
from kitlib.advisor.targets import find_target
from kitlib.advisor.what_if import what_if
from kitlib.advisor.what_if_answer import as_data as what_if_data
from kitlib.advisor.workloads import explain_object
from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.errors import KitError, NotFound
from kitlib.api.release import Release
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.qos.qos_class import get_pod_qos

Answer = dict[str, Any]
MANIFEST = "manifest"
ROW_LIMIT = 50
"""Maximum number of rows of a list in an answer, which has the total number too."""


class Assistant:
    """Questions about one cluster.

    Args:
        read: reads the cluster's objects.
        redact: whether to replace names of nodes, pods, namespaces and labels in every answer.
    """

    def __init__(self, read: Callable[[], Dump], *, redact: bool = False) -> None:
        self._read, self._redact = read, redact
        self._dump: Dump | None = None
        self._redactor: Redactor | None = None

    @property
    def dump(self) -> Dump:
        """The cluster, read at the first question."""
        if self._dump is None:
            self._dump = self._read()
            self._redactor = Redactor(self._dump.objects) if self._redact else None
        return self._dump

    def overview(self, read_again: bool = False) -> Answer:
        """Summarize the cluster: nodes, pods, waiting pods by stage and owner, and risks by weight. Start here.

        Args:
            read_again: read the cluster again, because it may have changed.
        """
        if read_again:
            self._dump = None
        found = report_data(report(self.dump))
        kept = ("at", "release", "summary", "findings", "waiting", "notModelled")
        return self._hidden({key: _first(found[key]) for key in kept})

    def explain(self, name: str = "", namespace: str = "", remedies: bool = True) -> Answer:
        """Explain which stage blocks a pod or workload, with numbers, who can change it, and the changes that help.

        Args:
            name: NAME, NAMESPACE/NAME or KIND/NAME (job/train); empty if exactly one pod waits.
            namespace: namespace of the object; empty = any.
            remedies: look for changes that help; each is tried before it is named.
        """
        dump = self.dump
        target = find_target(dump, self._plain(name), self._plain(namespace))
        found = explain_object(dump, target, find_remedies=remedies)
        data = as_data(dump, found)
        data["nodes"] = _first(data["nodes"])
        data["feasible"] = _first(data["feasible"])
        return self._hidden(
            {"answer": "\n\n".join(in_text(dump, found, remedies_asked=remedies)), "exitCode": found.exit_code, **data}
        )

    def what_if(self, questions: list[str], manifest: str = "", force: bool = False) -> Answer:
        """Carry questions out one after the other on a copy of the cluster, and return the effects on each pod.

        Args:
            questions: `drain NODE`, `lose NODE`, `lose LABEL=VALUE`, `add NODE COUNT`, `scale KIND/NAME N`,
                `upgrade RELEASE`, `resize POD cpu=2`, `resize POD CONTAINER:memory=1Gi`, `pressure NODE memory`,
                `pressure POD memory=2Gi`, `scale-down`, `deschedule`, `vertical KIND/NAME`, and `apply manifest` for
                the text in `manifest`.
            manifest: YAML of objects to apply.
            force: for drains: evict pods without a controller too.
        """
        asked = [self._plain(question) for question in questions]
        if any(one.split()[:1] == ["apply"] and one.split() != ["apply", MANIFEST] for one in asked):
            raise KitError(
                "what_if: questions cannot name a file: write `apply manifest` and pass the YAML text in the argument "
                "manifest"
            )
        found = what_if(self.dump, asked, force=force, manifests={MANIFEST: self._plain(manifest)})
        data = what_if_data(found)
        data["effects"] = _first(data["effects"])
        del data["nodes"]
        return self._hidden({**data, "exitCode": found.exit_code})

    def report(self) -> Answer:
        """Return the whole report: requests and capacity by node and zone, free room, budgets, quotas, and risks."""
        found = report_data(report(self.dump))
        for table in found["tables"]:
            table["rows"] = _first(table["rows"])
        return self._hidden({**found, "waiting": _first(found["waiting"]), "findings": _first(found["findings"])})

    def node(self, name: str) -> Answer:
        """Describe a node: requests and limits relative to allocatable, its pods, and its victims when memory is short.

        Args:
            name: name of the node.
        """
        name = self._plain(name)
        node_room = next((room for room in room_of(self.dump) if room.name == name), None)
        if node_room is None:
            raise NotFound("nodes", name)
        pods = [p for p in self.dump.pods if p.spec.node_name == name and p.status.phase not in TERMINAL_PHASES]
        stats, gaps = stats_of(pods, measured(self.dump), {}, "memory")
        machine = next(each for each in self.dump.nodes if each.name == name)
        pressed = NodeUnderPressure(machine, KubeletSettings(), self.dump.release)
        evicted, killed = first_to_go(pressed, pods, stats) if pods else ([], [])
        return self._hidden(
            {
                "name": name,
                "zone": node_room.zone,
                "allocatable": dict(node_room.allocatable),
                "requested": dict(node_room.requested),
                "units": "cpu in milli-CPU, memory in bytes",
                "memoryLimits": node_room.memory_limits,
                "podsWithoutMemoryLimit": node_room.without_limit,
                "usedMemory": node_room.used_memory,
                "conditions": list(node_room.conditions),
                "pods": _first([{"name": p.key, "qos": get_pod_qos(p, self.dump.release)} for p in pods]),
                "evictedFirst": evicted,
                "oomKilledFirst": killed,
                "notModelled": [str(gap) for gap in gaps],
            }
        )

    def how_many(self, name: str, namespace: str = "") -> Answer:
        """Return how many more pods like this one fit, on which nodes, and the reason that stops the next one.

        Args:
            name: name of a pod, NAME or NAMESPACE/NAME.
            namespace: namespace of the pod; empty = any.
        """
        target = find_target(self.dump, self._plain(name), self._plain(namespace))
        if not isinstance(target, Pod):
            raise KitError(f"how_many: {target.kind} {target.key} is not a pod; name a pod")
        placed, stop = self.dump.how_many(target)
        rows = [{"node": node, "pods": number} for node, number in sorted(placed.items(), key=lambda one: -one[1])]
        then = stop.message if stop is not None else ""
        return self._hidden({"pod": target.key, "fit": sum(placed.values()), "nodes": _first(rows), "then": then})

    def read_message(self, text: str) -> Answer:
        """Explain a FailedScheduling message of any release: each reason, its plugin, its meaning and the next step.

        Args:
            text: the message, `0/3 nodes are available: …`.
        """
        return decode(text)

    def changes_of_release(self, before: str, after: str = "") -> Answer:
        """Return the changes of a newer Kubernetes release for the cluster: decisions, cgroup values, defaults.

        Args:
            before: current release of the objects, such as 1.34.
            after: the later release; empty = the newest that the kit follows.
        """
        found = self.dump.changes(Release.of(before), Release.of(after or None))
        rows = [{"kind": change.kind, "text": str(change)} for change in found]
        return self._hidden({"from": before, "to": after or str(Release.followed()), "changes": _first(rows)})

    def shown(self, text: str) -> str:
        """Return a text in its displayed form, such as the message of an error."""
        return self._redactor.text(text) if self._redactor is not None else text

    def _hidden(self, data: Answer) -> Answer:
        if self._redactor is None:
            return data
        hidden: Answer = json.loads(self._redactor.text(json.dumps(data)))
        return hidden

    def _plain(self, text: str) -> str:
        _ = self.dump
        return self._redactor.original(text) if self._redactor is not None else text


def _first(rows: Any) -> Any:
    """Return the first rows of a list or mapping, with a last one that has the number of omitted rows."""
    if not isinstance(rows, Sequence | dict) or isinstance(rows, str) or len(rows) <= ROW_LIMIT:
        return rows
    left = f"{len(rows) - ROW_LIMIT} more are left out"
    if isinstance(rows, dict):
        return {**dict(list(rows.items())[:ROW_LIMIT]), "…": left}
    return [*rows[:ROW_LIMIT], left]


TOOLS = ("overview", "explain", "what_if", "report", "node", "how_many", "read_message", "changes_of_release")
"""Names of the methods that are tools."""
