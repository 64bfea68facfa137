"""The lifecycle hooks of simulated containers: their commands run in the shell, which determines their duration.

The files that a command writes exist from its start. A request over HTTP is answered at once; any status is a success,
only a failed connection is a failure.

Source: kubelet lifecycle handlerRunner.Run, runHTTPHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping

from kitlib.api.container import LifecycleHandler
from kitlib.api.core import Container, Pod
from kitlib.kubelet.prober.worker import Answer
from kitlib.node.simulated.container_machine import ProcessOne
from kitlib.node.simulated.probes import Ran, run_in_container
from kitlib.node.simulated.shell.machine import Data

LONGEST = 1e9
"""Seconds after which a command counts as endless."""


class SimulatedHook:
    """A lifecycle hook of a simulated container. Implements `kitlib.kubelet.loop.interfaces.RunningHook`.

    Args:
        ran: the run of its command.
        clock: returns seconds on the node's clock.
    """

    def __init__(self, ran: Ran, clock: Callable[[], float]) -> None:
        self._ran, self._clock, self._until = ran, clock, clock() + ran.seconds

    def answer(self) -> Answer | None:
        """Return the result of the command after its duration; None = it runs."""
        return self._ran.answer if self._clock() >= self._until else None

    def cancel(self) -> None:
        """Do nothing: the run uses nothing of the node."""


def begin(
    pod: Pod,
    container: Container,
    handler: LifecycleHandler,
    seconds: float,
    environment: Mapping[str, str],
    written: MutableMapping[str, Data | None],
    mounted: Mapping[str, str],
    clock: Callable[[], float],
    process: ProcessOne,
) -> SimulatedHook:
    """Start a hook.

    Args:
        pod: the container's pod.
        container: the container.
        handler: an exec or an HTTP hook.
        seconds: time since the container's start in seconds.
        environment: the container's environment variables.
        written: files that earlier commands have written there; those of this one are added.
        mounted: text of files in volumes and of /proc, by path.
        clock: seconds on the node's clock.
        process: process 1 of the container, which gets the signals that the command sends at their times.
    """
    ran = Ran(Answer("success"))
    if handler.exec is not None and handler.exec.command:
        command = list(handler.exec.command)
        ran = run_in_container(pod, container, command, seconds, environment, written, mounted, LONGEST, process)
    return SimulatedHook(ran, clock)
