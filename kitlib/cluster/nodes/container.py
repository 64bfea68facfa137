"""A node in a container, from its owner's side: the kubelet runs there on a real kernel; used as a `SimulatedNode` is.

The node works by itself: it restarts containers, evicts, writes its QoS cgroups again every minute. What it reports
waits until the cluster takes it, and is then written into the object store.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import ObjectMeta
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.node_lifecycle import mark_ready, mark_unreachable
from kitlib.cluster.journal import owner
from kitlib.cluster.nodes.base import NodeBase, Record
from kitlib.cluster.nodes.file_watch import FileWatch
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.nodes.pod_sync import PodSync
from kitlib.cluster.nodes.remote_cgroupfs import RemoteCgroupFS
from kitlib.cluster.nodes.reports import StoreReports
from kitlib.kubelet.app.node_validation import check_node
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupTree, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.loop.timeline import Entry
from kitlib.node.real import protocol
from kitlib.node.real.container import MAX_PID
from kitlib.node.real.link import BEGINS, Conversation, NodeGone

FIRST_LOOK = 0.5
"""Seconds of use from which the first rate is computed."""
_SIGNALS = range(1, 65)


class NodeHandle(Protocol):
    """Who holds a node: its container, or somebody who speaks for it."""

    @property
    def link(self) -> Conversation:
        """To the node."""

    def close(self) -> None:
        """End the node."""


@dataclass(frozen=True)
class ContainerProcess:
    """A process on a real node, as /proc shows it.

    Attributes:
        pid: in the node's own pid namespace. name: its command. cgroup: path.
        memory: bytes that are resident. page_tables: bytes. oom_score, oom_score_adj: now. cpus: that it may use.
        namespace, pod, container: whose; container "" = the pause container.
        first: whether it is the container's first.
        rate: CPUs that the container gets; only its first process carries it.
        refused: the oom_score_adj that the kubelet wanted and the host has refused; None = it has what was wanted.
    """

    pid: int
    name: str
    cgroup: str
    memory: int
    page_tables: int
    oom_score: int
    oom_score_adj: int
    cpus: str
    namespace: str
    pod: str
    container: str
    first: bool
    rate: float = 0.0
    refused: int | None = None


def config_of(plan: NodePlan, release: Release) -> NodeConfig:
    """What the kubelet of a real node works with.

    Raises:
        KitError: for settings that a kubelet would not start with, or that a node in a container cannot follow.
    """
    machine = plan.machine if plan.machine.max_pid else replace(plan.machine, max_pid=MAX_PID)
    settings = read_settings(plan.kubelet, release=release)
    return NodeConfig(
        machine=machine,
        settings=settings,
        release=release,
        name=plan.name,
        resources=plan.resources,
        devices=plan.plugins,
    )


class ContainerNode(NodeBase):
    """One node of `Cluster.docker`.

    Args:
        plan, config: what was asked for. container: that runs. record: for the journal.
        notes: what is different from the machine that was asked for.
        facts: what the node said when somebody else started its kubelet; None = it is started here.

    Attributes:
        fidelity: sentences: where this node cannot be what it should. facts: what the node said of itself.
    """

    def __init__(
        self,
        plan: NodePlan,
        config: NodeConfig,
        container: NodeHandle,
        record: Record,
        notes: Sequence[str] = (),
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self.plan, self.config, self.name, self.container, self._record = plan, config, plan.name, container, record
        self.link = container.link
        self.facts: Mapping[str, Any] = facts or self.link.ask(
            "start", timeout=BEGINS, version=protocol.VERSION, config=protocol.config_to_data(config)
        )
        version: Version = self.facts["version"]
        check_node(config, version)
        self.cgroupfs = RemoteCgroupFS(self.link, version)
        self.fidelity = [*notes, *self.facts["limits"]]
        self._reports = StoreReports(plan.name, datetime.now(UTC))
        self._pod_sync = PodSync()
        self._lost_at: int | None = None
        self._used: tuple[float, float] = (0.0, 0.0)
        self._rate = 0.0
        self._root: dict[str, str] | None = None

    def _given(self, wanted: CgroupTree) -> Mapping[str, str]:
        """The root's files as the engine gave them: read once, before anybody here writes to them."""
        if self._root is None:
            self._root = {}
            for name in wanted["/"]:
                with suppress(KitError):
                    self._root[name] = self.read("/", name)
        return self._root

    def __repr__(self) -> str:
        return f"<ContainerNode {self.name}: cgroup v{self.cgroupfs.version}, {'up' if self.link.alive else 'gone'}>"

    # What the cluster does with it.

    def register(self, now: datetime) -> Node:
        """The Node object with capacity and allocatable as the kubelet publishes them."""
        node = super().register(now)
        node.status.node_info = {
            **(node.status.node_info or {}),
            "kernelVersion": self.facts["kernel"],
            "containerRuntimeVersion": "crun://1",
        }
        return node

    def sync(self, api: APIServer, pods: list[Pod]) -> None:
        """Tell the node which pods are bound to it, where that has changed, and take what it reports."""
        self._reports.api = api
        if self._lost_at is not None:
            return
        changes = self._pod_sync.changes(pods)
        if changes:
            try:
                self.link.ask("sync", **changes)
                self._pod_sync.acknowledge()
            except NodeGone:
                self.lose(api)
        self.take(api)

    def take(self, api: APIServer) -> bool:
        """Write what the node has reported into the store; whether there was anything."""
        self._reports.api = api
        some = self._find_again(api)
        while self.link.reports:
            some = True
            self._write_report(api, self.link.reports.popleft())
        if not self.link.alive and self._lost_at is None:
            self.lose(api)
            some = True
        return some

    def _write_report(self, api: APIServer, report: Mapping[str, Any]) -> None:
        kind = report["report"]
        pod = _named(report["pod"]) if report.get("pod") else None
        if kind == "event":
            about = self._standing(api, pod) if pod is not None else None
            if about is not None or pod is None:
                self._reports.event(about, report["kind"], report["reason"], report["message"], report.get("field", ""))
        elif kind == "condition":
            self._reports.condition(protocol.condition_from_data(report["condition"]))
        elif pod is not None and kind == "gone":
            self._reports.gone(pod)
        elif pod is not None and kind == "status":
            standing = self._standing(api, pod)
            if standing is not None:
                told: Pod = from_dict({"metadata": {"name": pod.name}, "status": report["status"]}, Pod)
                ours = {c.type for c in told.status.conditions}
                told.status.conditions += [c for c in standing.status.conditions if c.type not in ours]
                told.status.qos_class = standing.status.qos_class
                known = self._pod_sync.knows(standing)
                self._reports.status(pod, told.status)
                after = self._standing(api, pod)
                if known and after is not None:  # the node knows what it said itself
                    self._pod_sync.record_reported(after)

    @staticmethod
    def _standing(api: APIServer, pod: Pod) -> Pod | None:
        found: Pod | None = api.store.find(Pod, pod.name, pod.namespace)
        return found if found is not None and found.metadata.uid == pod.metadata.uid else None

    def lose(self, api: APIServer) -> None:
        """Nothing is heard of the node any more; where it lives, it may be heard again."""
        self._lost_at = self.link.heard
        mark_unreachable(api, self.name)

    def _find_again(self, api: APIServer) -> bool:
        """Whether a node that was lost is back; it is told everything, since nobody knows what it has heard."""
        if self._lost_at is None or not self.link.alive or self.link.heard == self._lost_at:
            return False
        self._lost_at, self._pod_sync = None, PodSync()
        mark_ready(api, self.name)
        return True

    def advance(self, seconds: float) -> None:
        """Time passes by itself."""

    def close(self) -> None:
        """End the node; nothing of it is left."""
        self.container.close()

    # Cgroups.

    def desired(self) -> CgroupTree:
        """The tree that the kubelet wants, with the reason for every value; the root is what the engine gave."""
        tree = protocol.tree_from_data(self.link.ask("desired"))
        given = self._given(tree)
        return CgroupTree(tree.version, tree.driver, (_as_given(c, given) for c in tree.values()))

    def unit(self, name: str) -> dict[str, Any]:
        """The properties of a slice or scope, as `systemctl show` prints them; "no limit" is 2**64 - 1.

        Args:
            name: of the unit, or the path of its cgroup.

        Raises:
            KitError: where there is no such unit, or no systemd in this node (the cgroupfs driver).
        """
        if not self.facts.get("systemd"):
            raise KitError(f"node {self.name}: no systemd runs here: its kubelet has --cgroup-driver=cgroupfs")
        return dict(self.link.ask("unit", unit=name.rpartition("/")[2]))

    def write(self, path: str, file: str, value: str) -> None:
        """Write a cgroup file by hand.

        Raises:
            KitError: where the kernel refuses it.
        """
        if path == "/" and self._root is None:
            self.desired()
        super().write(path, file, value)

    def _whose(self, path: str) -> dict[str, str]:
        """UIDs are others where the journal is replayed, so the pod is named."""
        of_pod = any(uid in path or uid.replace("-", "_") in path for uid in self._pod_sync.uids)
        return owner(self.desired(), path) if of_pod else {}

    def timeline(self) -> list[Entry]:
        """What the kubelet did, when and why, oldest first."""
        return [Entry(*one) for one in self.link.ask("timeline")]

    def uptime(self) -> float:
        """Seconds on the node's own clock, that of its timeline."""
        return float(self.link.ask("alive"))

    def checkpoint(self) -> str:
        """What the kubelet's file `cpu_manager_state` holds: who has which CPUs; "" without a static CPU policy."""
        return str(self.link.ask("checkpoint"))

    def usage(self, path: str) -> int:
        """Bytes of memory that a cgroup and those below it use, without inactive page cache."""
        return int(self.link.ask("usage", path=path))

    def watch(self, files: Sequence[tuple[str, str]], hz: float = 10.0) -> FileWatch:
        """Sample files up to 50 times a second; see `FileWatch`.

        Args:
            files: (path of the cgroup, file) of each.
            hz: samples a second.
        """
        return FileWatch(self.link, files, hz)

    # Processes.

    def processes(self) -> list[ContainerProcess]:
        """What `ps` shows of the containers, oldest first."""
        rates = {(n, p, c): cpus for n, p, c, cpus, _ in self.link.ask("usages")}
        return [
            ContainerProcess(
                pid=one["pid"],
                name=one["command"],
                cgroup=one["path"],
                memory=one["rss"],
                page_tables=one["page_tables"],
                oom_score=one["oom_score"],
                oom_score_adj=one["oom_score_adj"],
                cpus=one["cpus"],
                namespace=one["namespace"],
                pod=one["pod"],
                container=one["container"],
                first=one["first"],
                refused=one["refused"],
                rate=rates.get((one["namespace"], one["pod"], one["container"]), 0.0) if one["first"] else 0.0,
            )
            for one in self.link.ask("processes")
        ]

    def owners(self) -> dict[int, tuple[str, str, str]]:
        """Process id -> (namespace, pod, container) of what runs for pods, pause containers left out."""
        listed = self.link.ask("processes")
        return {one["pid"]: (one["namespace"], one["pod"], one["container"]) for one in listed if one["container"]}

    def process(self, pod: str, container: str = "", namespace: str = "default") -> ContainerProcess:
        """The first process of a container.

        Raises:
            NotFound: where it does not run.
        """
        for one in self.processes():
            ours = (one.pod, one.namespace) == (pod, namespace) and one.first and one.container
            if ours and container in ("", one.container):
                return one
        raise NotFound("processes", f"{namespace}/{pod}/{container}")

    def proc(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, str]:
        """What /proc/PID of a container's process says: cgroup, oom_score, oom_score_adj, Cpus_allowed_list."""
        pid = self.process(pod, container, namespace).pid
        for one in self.link.ask("processes"):
            if one["pid"] == pid:
                return {
                    "cgroup": one["cgroup"],
                    "oom_score": str(one["oom_score"]),
                    "oom_score_adj": str(one["oom_score_adj"]),
                    "Cpus_allowed_list": one["cpus"],
                }
        raise NotFound("processes", f"{namespace}/{pod}/{container}")

    def refused_scores(self) -> dict[tuple[str, str, str], int]:
        """(namespace, pod, container) -> the oom_score_adj that the kubelet wanted and the host refused."""
        found = self.link.ask("processes")
        return {(o["namespace"], o["pod"], o["container"]): o["refused"] for o in found if o["refused"] is not None}

    def usages(self) -> dict[tuple[str, str], dict[str, tuple[float, int]]]:
        """(namespace, pod) -> container -> CPUs that it gets now, and bytes of memory."""
        found: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}
        for namespace, pod, container, cpus, memory in self.link.ask("usages"):
            found.setdefault((namespace, pod), {})[container] = (cpus, memory)
        return found

    def total_usage(self) -> tuple[float, int]:
        """CPUs that the node has used since the last look, and bytes of memory that it uses now.

        The first look takes half a second, and one soon after another tells the same rate.
        """
        seconds, memory = self.link.ask("total_usage")
        if not self._used[0]:
            self._used = (time.monotonic(), seconds)
            time.sleep(FIRST_LOOK)
            seconds, memory = self.link.ask("total_usage")
        now, (then, before) = time.monotonic(), self._used
        if now - then >= FIRST_LOOK:
            self._rate = max(0.0, (seconds - before) / (now - then))
            self._used = (now, seconds)
        return self._rate, int(memory)

    def logs(self, pod: str, container: str = "", namespace: str = "default") -> str:
        """The last of a container's output."""
        return str(self.link.ask("logs", namespace=namespace, pod=pod, container=container))

    def signal(self, pod: str, container: str, signal: int = 9, namespace: str = "default") -> None:
        """Send a signal to a container's first process, as `kill` inside the node does."""
        if signal not in _SIGNALS:
            raise KitError(f"signal {signal}: a number from 1 to 64 is expected")
        self.link.ask("signal", namespace=namespace, pod=pod, container=container, number=signal)
        self._record("signal", node=self.name, pod=pod, container=container, signal=signal)

    def kernel_log(self) -> list[str]:
        """What the kernel wrote about the OOM killer in this node; where it may not be read, the line says so."""
        found = self.link.ask("kernel_log")
        if found["why"]:
            return [f"the kernel's log cannot be read: {found['why']}"]
        return of_node(found["lines"], [getattr(self.container, "id", ""), *self._pod_sync.uids])


def of_node(lines: Sequence[str], marks: Sequence[str]) -> list[str]:
    """The OOM killer's reports about one node: the log is the host's, and other nodes write into it too.

    Args:
        lines: of the log. marks: the id of the node's container and the UIDs of its pods; cgroups' paths name them.
    """
    reports: list[list[str]] = []
    for line in lines:
        if not reports or "invoked oom-killer" in line:
            reports.append([])
        reports[-1].append(line)
    kept: list[str] = []
    for report in reports:
        paths = [line for line in report if "task_memcg=" in line]
        if not paths or any(mark and mark in line for mark in marks for line in paths):
            kept += report
    return kept


def _named(key: Sequence[str]) -> Pod:
    namespace, name, uid = key
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))


def _as_given(cgroup: Cgroup, given: Mapping[str, str]) -> Cgroup:
    """The node's own root: nobody in the node sets its files, the engine did."""
    if cgroup.kind != "root" or not given:
        return cgroup
    files = {n: f if f.written else f._replace(value=given.get(n, f.value)) for n, f in cgroup.files.items()}
    return replace(cgroup, files=files)
