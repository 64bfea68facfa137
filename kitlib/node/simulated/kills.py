"""The further behaviour of a shell script after the OOM killer has ended one of its programs."""

from __future__ import annotations

from kitlib.node.common.workload import KILLING, Child, Phase, Workload
from kitlib.node.simulated.commands import behaviour_of
from kitlib.node.simulated.programs import Kill, Run
from kitlib.node.simulated.programs.following import continued

MAX_KILLS = 50
"""Maximum number of different kills of a container's programs; the next one ends its shell as well.

Each one records the script again, which takes half a second if a loop changes its variables.
"""


def after_kill(run: Run, child: Child, seconds: float) -> Workload | None:
    """Return how a shell goes on from now; None = it ends, too.

    Args:
        run: the run of the container, which records the kill.
        child: the killed program.
        seconds: the time of the kill since the container's start.
    """
    seen = behaviour_of(run.pod, run.container, run.environment, run.shown, run.kills)
    if seen.loop is not None and seconds >= sum(seen.loop):
        begins, length = seen.loop
        again = begins + (seconds - begins) % length
        if any(kill.job == child.job and abs(kill.at - again) < KILLING / 2 for kill in run.kills):
            return continued(seen.workload, again + KILLING)  # an iteration of a loop has this kill already
    if len(run.kills) >= MAX_KILLS:
        return None
    run.kills = (*run.kills, Kill(child.job, seconds))
    seen = behaviour_of(run.pod, run.container, run.environment, run.shown, run.kills)
    return continued(seen.workload, seconds + KILLING) or seen.workload._replace(phases=(Phase(0.0),), repeats=None)
