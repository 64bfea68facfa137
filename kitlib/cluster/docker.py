"""A cluster of real nodes: each is a container of its own with the kubelet inside; time is the machine's.

API server, controllers and scheduler are those of the simulated cluster and run in this process; they act whenever the
cluster is asked for something or time is waited for. The nodes work on by themselves in between. When this process
ends, in whatever way, the containers end too.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from kitlib.api.core import Node
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.cluster.nodes import NodePlan, plan
from kitlib.cluster.real import RealNode, config_of
from kitlib.cluster.simulated import SimulatedCluster
from kitlib.cluster.still import node_object
from kitlib.cluster.store import Store, Watch, WatchEvent
from kitlib.node.real import container, engine
from kitlib.node.real import image as images
from kitlib.node.real.container import Privilege

TICK = 0.05
AT_ONCE = 10
"""Nodes that are started at the same time."""
SHARE = 0.8
"""Of the engine's memory that one node may have at most, whatever was asked for."""
Show = Callable[[int, int], None]


class RealClock:
    """The machine's time; seconds count from the cluster's beginning."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the cluster began."""
        return time.monotonic() - self._began

    def now(self) -> datetime:
        """The date."""
        return datetime.now(UTC)

    def move(self, seconds: float) -> None:
        """Let time pass: wait."""
        time.sleep(seconds)


class DockerCluster(SimulatedCluster):
    """Made by `Cluster.docker`.

    Args:
        nodes: as for `Cluster.simulated`. What the engine cannot give is said in `node.fidelity`.
        release, feature_gates, seed, scheduler, plugins: as for `Cluster.simulated`.
        privilege: "least" (the smallest set that can own cgroups) or "full" (`--privileged`).
        image: an image to run; "" = the kit's own, which is built where it is not there.
        progress: called with the number of nodes that are up and of those that were asked for; None = a bar where
            standard error is a terminal.
        autoscaler, gate_manager: as for `Cluster.simulated`.
        common: what holds for all nodes: cpus, memory, kubelet, labels, taints, ….

    Raises:
        KitError: where no engine answers, the image cannot be built, or a node does not start; then nothing is left.
    """

    def __init__(
        self,
        nodes: Any = 1,
        *,
        release: str | Release | None = None,
        feature_gates: dict[str, bool] | None = None,
        seed: int | None = None,
        scheduler: Any = None,
        plugins: Sequence[Any] = (),
        privilege: Privilege = "least",
        image: str = "",
        progress: Show | None = None,
        autoscaler: Any = None,
        gate_manager: Any = None,
        **common: Any,
    ) -> None:
        if privilege not in ("least", "full"):
            raise KitError(f"privilege: {privilege!r} is neither 'least' nor 'full'")
        followed = Release(release) if release is not None else Release.latest()
        if feature_gates:
            followed = followed.with_gates(feature_gates)
        plans = plan(nodes, **common)
        self.release, self._privilege, self._image = followed, privilege, image
        for one in plans:
            config_of(one, followed)  # what cannot be is said before anything is started
        self._client = engine.connect()
        self._closed = False
        self._lacking: tuple[str, ...] = ()
        self._started: dict[str, RealNode] = {}
        self._containers: list[container.NodeContainer] = []
        self._end = weakref.finalize(self, _let_go, self._containers)
        try:
            self._info = self._client.info()
            container.sweep(self._client)
            self._image = image or images.ensure(self._client)
            self._start_all(plans, progress)
            super().__init__(
                plans,
                release=followed,
                seed=seed,
                tick=TICK,
                scheduler=scheduler,
                plugins=plugins,
                autoscaler=autoscaler,
                gate_manager=gate_manager,
                start=datetime.now(UTC),
            )
        except BaseException:
            self.close()
            raise
        self._common = common

    def _clock(self, start: datetime) -> Any:
        return RealClock()

    # Nodes.

    def _start_all(self, plans: Sequence[NodePlan], progress: Show | None) -> None:
        """The first node finds out what the engine grants, the others start together."""
        if not plans:
            return
        with _shown(progress, len(plans)) as show:
            first, *others = plans
            show(0, len(plans))
            self._started[first.name] = self._begin(first, 0)
            show(1, len(plans))
            if not others:
                return
            with ThreadPoolExecutor(min(AT_ONCE, len(others))) as pool:
                jobs = [pool.submit(self._begin, one, number) for number, one in enumerate(others, 1)]
                for number, job in enumerate(jobs, 2):
                    made = job.result()
                    self._started[made.name] = made
                    show(number, len(plans))

    def _begin(self, one: NodePlan, number: int) -> RealNode:
        """Start one node's container and its kubelet."""
        config = config_of(one, self.release)
        machine, notes = config.machine, []
        have = int(self._info.get("NCPU") or 0)
        cpuset = ""
        if have and machine.cores < have:
            begin = 0 if config.settings.cpu_manager_policy == "static" else number * machine.cores % have
            cpuset = ",".join(str((begin + i) % have) for i in range(machine.cores))
        elif have and machine.cores > have:
            notes.append(f"{machine.cores} CPUs were asked for, the engine has {have}: weights hold, sums do not")
        total = int(int(self._info.get("MemTotal") or 0) * SHARE)
        most = 0
        if total and machine.memory > total:
            most = total
            notes.append(f"{machine.memory} bytes of memory were asked for; the container may use {total}")
        if one.cgroup_version is not None and f"{one.cgroup_version}" != str(self._info.get("CgroupVersion", "1")):
            have_version = self._info.get("CgroupVersion", "1")
            notes.append(f"cgroup v{one.cgroup_version} was asked for, the engine's kernel has v{have_version}")
        if machine.swap:
            notes.append("swap is declared; whether there is any, the host decides")
        made = container.start(
            self._client,
            self._image,
            one.name,
            machine,
            privilege=self._privilege,
            cpuset=cpuset,
            lacking=self._lacking,
            most_memory=most,
        )
        self._containers.append(made)
        self._lacking = made.lacking
        if "SYSLOG" in made.lacking:
            notes.append("the kernel's log may be refused (no CAP_SYSLOG)")
        return RealNode(one, config, made, self._record, notes)

    def _machine(self, one: NodePlan) -> Any:
        ready = self._started.pop(one.name, None)
        return ready if ready is not None else self._begin(one, len(self._machines))

    def _would_be(self, one: NodePlan) -> Node:
        return node_object(one, config_of(one, self.release), self.now())

    def _heard(self, event: WatchEvent) -> None:
        if isinstance(event.object, Node) and event.type == "DELETED":
            machine = self._machines.get(event.object.name)
            if machine is not None:
                machine.close()
        super()._heard(event)

    # Time.

    def refresh(self) -> None:
        """Take what the nodes have reported since the last time, and let controllers and scheduler act on it."""
        if self._settling or self._closed:
            return
        some = [machine.take(self.api) for machine in list(self._machines.values())]
        if any(some):
            super().settle()

    def settle(self) -> None:
        """As far as it goes without time passing; what the nodes have reported counts."""
        if not self._settling:
            for machine in list(self._machines.values()):
                machine.take(self.api)
        super().settle()

    def wait(self, condition: Callable[[DockerCluster], Any], timeout: float = 60.0) -> Any:
        """Wait until something is so.

        Args:
            condition: called with this cluster until it returns something true. timeout: seconds.

        Returns:
            What the condition returned.

        Raises:
            KitError: where it is not so in time.
        """
        deadline = time.monotonic() + timeout
        while True:
            self.refresh()
            found = condition(self)
            if found:
                return found
            if time.monotonic() >= deadline:
                raise KitError(f"what was waited for has not happened within {timeout:g} s")
            self._pass(TICK)

    def advance(self, seconds: float) -> None:
        """Wait that long; controllers and scheduler work meanwhile."""
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < float("inf"):
            raise KitError(f"advance: {seconds!r} is no number of seconds")
        self._record("advance", seconds=seconds)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._pass(min(TICK, left))
        self.settle()

    # Reading: what the nodes have said comes first.

    def get(self, kind: str, name: str, namespace: str = "default") -> Any:
        """A copy of one object; see `Cluster.get`."""
        self.refresh()
        return super().get(kind, name, namespace)

    def list(self, kind: str, namespace: str | None = None, selector: Any = None) -> Any:
        """Copies of all objects of a kind; see `Cluster.list`."""
        self.refresh()
        return super().list(kind, namespace, selector)

    def events(self, about: Any = None) -> Any:
        """Kubernetes events; see `Cluster.events`."""
        self.refresh()
        return super().events(about)

    def watch(self, kind: str | None = None, namespace: str | None = None, since: int | None = None) -> Watch:
        """The changes from now on; see `Cluster.watch`."""
        self.refresh()
        plain = super().watch(kind, namespace, since)
        return _RefreshingWatch(self, self.api.store, plain)

    @property
    def fidelity(self) -> dict[str, Sequence[str]]:
        """Node -> where it cannot be what it should."""
        return {name: machine.fidelity for name, machine in self._machines.items()}

    def close(self) -> None:
        """End all nodes; nothing of them is left. The objects can still be read."""
        if self._closed:
            return
        self._closed = True
        self._end.detach()
        for one in self._containers:
            one.link.close()
        for one in self._containers:
            one.close()
        self._containers.clear()
        with suppress(AttributeError):
            self._machines.clear()
        self._client.close()


@contextmanager
def _shown(progress: Show | None, wanted: int) -> Iterator[Show]:
    """Who is told how far the start has come: the caller's own function, or a bar in a terminal."""
    if progress is not None or wanted < 2 or not sys.stderr.isatty():
        yield progress or (lambda done, wanted: None)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting nodes", total=wanted)
        yield lambda done, wanted: bar.update(task, completed=done)


class _RefreshingWatch(Watch):
    """A watch that first takes what the nodes have reported."""

    def __init__(self, cluster: DockerCluster, store: Store, plain: Watch) -> None:
        super().__init__(store, plain._plural, plain._namespace, plain._seen)
        self._cluster = cluster

    def poll(self) -> list[WatchEvent]:
        self._cluster.refresh()
        return super().poll()


def _let_go(containers: list[container.NodeContainer]) -> None:
    """A cluster that nobody holds any more ends its nodes."""
    for one in containers:
        one.link.close()
