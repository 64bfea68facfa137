"""Where real nodes come from, as a control plane sees it; and what every such engine shares.

`Provisioner` is the seam: containers of a container engine (`provision`) and pods of a Kubernetes cluster
(`provision_pods`) stand behind it. Nothing here knows what a pod of the kit's own cluster is.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from kitlib.cluster.nodes.handle import NodeHandle
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.real.link import Link

AT_ONCE = 10
"""Nodes that are started at the same time."""
Show = Callable[[int, int], None]
Connect = Callable[[str, object], Link]
"""Makes the connection of a container: its name and the engine's stream -> the link."""
T = TypeVar("T")


class LinkedHandle(NodeHandle, Protocol):
    """A node whose stream this process holds."""

    @property
    def link(self) -> Link:
        """The stream."""
        ...


Handle = TypeVar("Handle", bound=LinkedHandle)


class Provisioner(Protocol):
    """Starts nodes, and ends them all when it is closed or no longer referenced."""

    def prepare(self) -> None:
        """Make sure that nodes can be started; remove what others left behind.

        Raises:
            KitError: they cannot.
        """
        ...

    def begin(
        self, one: NodePlan, config: NodeConfig, number: int, link: Connect = Link
    ) -> tuple[LinkedHandle, list[str]]:
        """Start one node.

        Args:
            one, config: what is asked for.
            number: how many nodes there are already.
            link: makes the connection.

        Returns:
            The node, and sentences: what of it is different from what was asked for.
        """
        ...

    def begin_control(self, link: Connect) -> LinkedHandle:
        """Start a control plane."""
        ...

    def let_go(self) -> None:
        """Let go of all of them: they end by themselves."""
        ...

    def close(self) -> None:
        """End all of them; nothing of them is left."""
        ...


class Provision(Protocol):
    """How nodes are made: the options of one engine."""

    @property
    def progress(self) -> Show | None:
        """Called with the number of nodes that are up and of those that were asked for."""
        ...

    def provisioner(self) -> Provisioner:
        """What starts them.

        Raises:
            KitError: where the engine does not answer.
        """
        ...


class Held(Generic[Handle]):
    """The nodes that a provisioner has started; those that nobody holds any more end.

    Args:
        holder: for whose life they are held.
    """

    def __init__(self, holder: object) -> None:
        self.all: list[Handle] = []
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="kitlib-start")
        self._end = weakref.finalize(holder, _let_go, self.all)

    @property
    def threads(self) -> ThreadPoolExecutor:
        """On which nodes start."""
        return self._threads

    def begin(self, start: Callable[[], Handle]) -> Handle:
        """Start one where no interrupt can come between the engine and us: `close` ends it in any case."""

        def started() -> Handle:
            made = start()
            self.all.append(made)
            return made

        return self._threads.submit(started).result()

    def let_go(self) -> None:
        """Let go of all: they end by themselves."""
        _let_go(self.all)

    def stop(self) -> None:
        """Wait for those that are starting, then let go of all."""
        self._end.detach()
        self._threads.shutdown()
        _let_go(self.all)


def start_all(plans: Sequence[NodePlan], begin: Callable[[NodePlan, int], T], progress: Show | None) -> list[T]:
    """The first node finds out what the engine grants, the others start together.

    Args:
        plans: of the nodes.
        begin: starts one, told its number.
        progress: told how far it has come.

    Returns:
        What `begin` returned, in the order of the plans.
    """
    if not plans:
        return []
    with _shown(progress, len(plans)) as show:
        first, *others = plans
        show(0, len(plans))
        made = [begin(first, 0)]
        show(1, len(plans))
        if others:
            with ThreadPoolExecutor(min(AT_ONCE, len(others))) as pool:
                jobs = [pool.submit(begin, one, number) for number, one in enumerate(others, 1)]
                for number, job in enumerate(jobs, 2):
                    made.append(job.result())
                    show(number, len(plans))
    return made


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


def _let_go(nodes: list[Handle]) -> None:
    """A cluster that nobody holds any more ends its nodes."""
    for one in nodes:
        one.link.close()
