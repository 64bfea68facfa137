"""The first two by order run; the third is still gated; the budget held at every moment."""

from itertools import pairwise

from kitlib.api.core import Pod
from kitlib.api.podresources import pod_requests
from kitlib.lab import Checks, Experiment, Facts
from kitlib.lab.history import Moment

checks = Checks()
BUDGET_MILLI = 2000
GATE = "example.com/budget"
"""The gate of the queue's controller."""
JOBS = ("serve", "train", "backfill")
TERMINAL_PHASES = ("Succeeded", "Failed")


@checks.check("next")
def who_is_next(facts: Facts) -> None:
    v = facts.variant
    third = facts.pod(v.third)
    for name in (v.first, v.second):
        pod = facts.pod(name)
        left = [gate.name for gate in pod.spec.scheduling_gates]
        facts.expect(
            not left,
            found=f"{name} still waits at {', '.join(left)}",
            expected=f"{v.first} and {v.second} running",
            hint=f"order {pod.metadata.annotations.get('example.com/order')}: remove every gate of {name}",
            credit=0.5 if name == v.second else 0.0,
        )
        facts.needs_to_run(pod, "the scheduler needs a moment: lab.cluster.advance(10)", credit=0.5)
        facts.needs_the_scheduler(pod)
    facts.expect(
        bool(third.spec.scheduling_gates),
        found=f"{v.third} has no gate any more",
        expected=f"{v.third} gated: it is third",
        hint="there was a budget for two jobs; a removed gate cannot be put back, so lab.reset()",
    )


@checks.never("budget")
def budget(moment: Moment) -> str:
    """The jobs that were let go and have not ended."""
    team = {pod.metadata.labels.get("team") for pod in moment.first.values() if pod.metadata.name in JOBS}
    let_go = [
        pod
        for pod in moment.pods()
        if (pod.metadata.name in JOBS or pod.metadata.labels.get("team") in team)
        and not pod.spec.scheduling_gates
        and pod.status.phase not in TERMINAL_PHASES
    ]
    requests = [pod_requests(pod).get("cpu") for pod in let_go]
    requested = sum(cpu.milli_value() for cpu in requests if cpu is not None)
    if requested <= BUDGET_MILLI:
        return ""
    return f"{requested}m of CPU let go by {', '.join(sorted(pod.metadata.name for pod in let_go))}"


@checks.never("order")
def order(moment: Moment) -> str:
    """A job got its node before an earlier one, or the last one has no gate.

    The last one counts even if it was deleted and made again. Two jobs that are let go at the same time are in order.
    """
    jobs = [pod for key, pod in moment.first.items() if key[0] == "Pod" and key[2] in JOBS]
    jobs.sort(key=lambda pod: int(pod.metadata.annotations["example.com/order"]))
    last = moment.get("Pod", jobs[-1].metadata.name)
    if last is not None and not last.spec.scheduling_gates:
        return f"{last.metadata.name} was let go, and it is third"
    for earlier, later in pairwise(job.metadata.name for job in jobs):
        times = [scheduled(moment.get("Pod", name)) for name in (earlier, later)]
        if all(times) and times[0] > times[1]:
            return f"{later} was let go before {earlier}, which is earlier in the order"
    return ""


def scheduled(pod: Pod | None) -> str:
    """Return the time at which a pod got its node, as text; "" = not yet."""
    conditions = pod.status.conditions if pod is not None else []
    found = [c for c in conditions if c.type == "PodScheduled" and c.status == "True"]
    return str(found[0].last_transition_time) if found else ""


@checks.again("next", "a job ends and the controller removes its gate from the third")
def third_turn(facts: Experiment) -> None:
    """It runs within the budget that the first one leaves; the controller knows the gate that it gave, and no other."""
    v = facts.variant
    facts.delete("Pod", v.first)
    facts.patch("Pod", v.third, {"spec": {"schedulingGates": [{"name": GATE, "$patch": "delete"}]}})
    facts.let_pass(15)
    left = [gate.name for gate in facts.pod(v.third).spec.scheduling_gates]
    facts.expect(
        not left,
        found=f"{v.third} waits at {', '.join(left)}, which no controller removes",
        expected=f"{v.third} running: {GATE} was its only gate",
        hint=f"whose gate is it? The queue's controller removes {GATE}, and nothing else",
    )
    facts.runs(v.third, "its gate is all that may keep it")
    facts.runs(v.second)


@checks.observed("reason", at_start=True)
def reason(facts: Facts) -> str:
    conditions = facts.pod(facts.variant.first).status.conditions
    return next((c.reason for c in conditions if c.type == "PodScheduled"), "")
