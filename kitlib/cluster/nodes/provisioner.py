"""The interface that provides real nodes to a control plane, and the common code of its implementations.

`Provisioner` is implemented by containers of a container engine (`provision`) and by pods of a Kubernetes cluster
(`provision_pods`). This module knows nothing of pods of the kit's own cluster.
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
"""The maximum number of nodes that start concurrently."""
Show = Callable[[int, int], None]
Connect = Callable[[str, object], Link]
"""A function from a container's name and the engine's stream to the link."""
T = TypeVar("T")


class LinkedHandle(NodeHandle, Protocol):
    """A handle of a node whose stream belongs to this process."""

    @property
    def link(self) -> Link:
        """The stream to the node."""
        ...


Handle = TypeVar("Handle", bound=LinkedHandle)


class Provisioner(Protocol):
    """A source of nodes, which end when it is closed or no longer referenced."""

    def prepare(self) -> None:
        """Check that nodes can be started, and remove leftovers of other processes.

        Raises:
            KitError: nodes cannot be started.
        """
        ...

    def begin(
        self, node_plan: NodePlan, config: NodeConfig, number: int, link: Connect = Link
    ) -> tuple[LinkedHandle, list[str]]:
        """Start one node.

        Args:
            node_plan: the node's plan.
            config: the kubelet's configuration.
            number: the number of nodes before this one.
            link: the type of connection.

        Returns:
            The node, and sentences about its differences from the plan.
        """
        ...

    def begin_control(self, link: Connect) -> LinkedHandle:
        """Start a control plane."""
        ...

    def let_go(self) -> None:
        """Release all nodes: they end by themselves."""
        ...

    def close(self) -> None:
        """End and remove all nodes."""
        ...


class Provision(Protocol):
    """The options of one engine."""

    @property
    def progress(self) -> Show | None:
        """The function that is called with the numbers of started and of requested nodes; None = a progress bar."""
        ...

    def provisioner(self) -> Provisioner:
        """Return the provisioner with these options.

        Raises:
            KitError: the engine does not answer.
        """
        ...


class Held(Generic[Handle]):
    """The nodes that a provisioner has started; they end with the object that owns them.

    Args:
        holder: the owner; the nodes are released when it is no longer referenced.
    """

    def __init__(self, holder: object) -> None:
        self.all: list[Handle] = []
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="kitlib-start")
        self._end = weakref.finalize(holder, _let_go, self.all)

    @property
    def threads(self) -> ThreadPoolExecutor:
        """The threads on which nodes start."""
        return self._threads

    def begin(self, start: Callable[[], Handle]) -> Handle:
        """Start a node on a thread that a KeyboardInterrupt cannot reach, so that `close` ends it in any case."""

        def started() -> Handle:
            made = start()
            self.all.append(made)
            return made

        # KeyboardInterrupt is raised in the main thread only: it can interrupt result(), not the start, so every
        # container that starts is in `all`.
        return self._threads.submit(started).result()

    def let_go(self) -> None:
        """Release all nodes: they end by themselves."""
        _let_go(self.all)

    def stop(self) -> None:
        """Wait for the nodes that are starting, then release all."""
        self._end.detach()
        self._threads.shutdown()
        _let_go(self.all)


def start_all(plans: Sequence[NodePlan], begin: Callable[[NodePlan, int], T], progress: Show | None) -> list[T]:
    """Start nodes: the first one alone, to find out what the engine grants, the others concurrently.

    Args:
        plans: the plans of the nodes.
        begin: starts the node of a plan, given its number.
        progress: called with the numbers of started and of requested nodes.

    Returns:
        The results of `begin`, in the order of the plans.
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
                jobs = [pool.submit(begin, node_plan, number) for number, node_plan in enumerate(others, 1)]
                for number, job in enumerate(jobs, 2):
                    made.append(job.result())
                    show(number, len(plans))
    return made


@contextmanager
def _shown(progress: Show | None, wanted: int) -> Iterator[Show]:
    """Yield the function that reports progress: the caller's own, or a progress bar in a terminal."""
    if progress is not None or wanted < 2 or not sys.stderr.isatty():
        yield progress or (lambda done, wanted: None)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting nodes", total=wanted)
        yield lambda done, wanted: bar.update(task, completed=done)


def _let_go(nodes: list[Handle]) -> None:
    """Close the streams of all nodes, which then end by themselves."""
    for node in nodes:
        node.link.close()
