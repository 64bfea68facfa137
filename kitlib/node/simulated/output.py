"""The output of a simulated container, as `kubectl logs` shows it.

The output of a followed command is known when it starts: the lines up to the time of a read are taken from its
behaviour. A program that is not followed prints nothing, and neither does `date`.

Source: kubelet kuberuntime logs.ReadLogs.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.node.common.log import KEPT, Log
from kitlib.node.simulated.commands import behaviour_of
from kitlib.node.simulated.programs import Behaviour, Run


def log_of(run: Run, now: float, epoch: float) -> Log:
    """Return the output of a run so far.

    Args:
        run: the run of a container.
        now: seconds on the node's clock.
        epoch: start of the node's clock in seconds since the Unix epoch.
    """
    behaviour = behaviour_of(run.pod, run.container, run.environment, run.shown, run.kills)
    at = run.began
    log = Log(lambda: epoch + at)
    for seconds, text in written(behaviour, (now if run.ended is None else run.ended) - run.began):
        at = run.began + seconds
        log.add(text.encode())
    if run.ended is not None:
        log.end()
    return log


def written(behaviour: Behaviour, until: float) -> Iterator[tuple[float, str]]:
    """Yield (seconds since the start, text); of an endless loop at least the newest KEPT bytes."""
    yield from (one for one in behaviour.output if one[0] <= until)
    if behaviour.output_loop is None:
        return
    first, length = behaviour.output_loop
    inside = behaviour.output[first:]
    size = sum(len(text) for _, text in inside)
    if not size:
        return
    last = int((until - inside[0][0]) // length)
    for number in range(max(1, last - KEPT // size - 1), last + 1):
        yield from ((at + number * length, text) for at, text in inside if at + number * length <= until)
