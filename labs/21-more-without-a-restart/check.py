"""Two pods were resized in place, and a third one has room on the disk by a limit of its own."""

from kitlib.api.core import Pod
from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()
MIB = 2**20
USES = 200
"""Milli-CPU that the batch pod uses."""


def milli(resources, name: str = "cpu") -> int:
    amount = resources.requests.get(name) if resources is not None else None
    return amount.milli_value() if amount is not None else 0


def unharmed(facts: Facts, name: str) -> Pod:
    """The very pod of the start, which never restarted."""
    pod = facts.pod(name)
    facts.expect(
        facts.is_from_setup(pod),
        found=f"{name} is another pod of the same name",
        expected="the pod that was there",
        hint="a pod that is made again has restarted; lab.reset() starts again",
    )
    restarts = sum(status.restart_count for status in pod.status.container_statuses)
    facts.expect(
        restarts == 0,
        found=f"{name} has restarted {restarts} times",
        expected="no restart",
        hint="a limit below the use, or a resizePolicy, ends the process",
    )
    facts.needs_to_run(pod)
    return pod


@checks.check("api")
def api(facts: Facts) -> None:
    v = facts.variant
    pod = unharmed(facts, v.api)
    asked = milli(pod.spec.containers[0].resources)
    facts.expect(
        asked >= v.wants,
        found=f"{v.api} requests {asked}m",
        expected=f"at least {v.wants}m",
        hint=f"resize it: only {asked}m are promised to it"
        if asked > 500
        else f"it has not been resized to {v.wants}m yet",
    )
    given = milli(pod.status.container_statuses[0].resources)
    facts.expect(
        given >= v.wants,
        found=f"{given}m are allocated to {v.api}",
        expected=f"{v.wants}m",
        hint="the kubelet needs a moment: lab.cluster.advance(5)",
    )
    limit = pod.spec.containers[0].resources.limits.get("cpu")
    if limit is not None:
        facts.remark(f"{v.api} has a CPU limit of {limit} now: it had none")
    facts.cgroup(pod, "cpu.weight")


@checks.check("batch")
def batch(facts: Facts) -> None:
    v = facts.variant
    pod = unharmed(facts, v.batch)
    asked = milli(pod.spec.containers[0].resources)
    facts.expect(
        asked >= USES,
        found=f"{v.batch} requests {asked}m and uses {USES}m",
        expected=f"at least {USES}m",
        hint=f"with less it has no claim to what it uses: {USES}m, or a little more",
    )
    limit = pod.spec.containers[0].resources.limits.get("cpu")
    facts.expect(
        limit is None or limit.milli_value() >= USES,
        found=f"{v.batch} has a CPU limit of {limit}",
        expected="room for its work",
        hint="a limit below the use throttles it",
    )


@checks.check("export")
def export(facts: Facts) -> None:
    v = facts.variant
    pod = facts.pod(v.export)
    limits = pod.spec.containers[0].resources.limits
    own = limits.get("ephemeral-storage")
    if pod.status.reason == "Evicted":
        raise Wrong(
            f"{v.export} was evicted: {pod.status.message}",
            f"{v.export} running",
            f"its limit of ephemeral storage is {own}, and it writes {v.writes}Mi: who set that limit?",
        )
    for status in pod.status.container_statuses:
        ended = (status.last_state.get("terminated") or {}).get("reason")
        facts.expect(ended is None, found=f"{v.export} ended: {ended}", expected="no end", hint="what ended it?")
    facts.needs_the_scheduler(pod)
    facts.expect(
        own is not None and own.value() > v.writes * MIB,
        found=f"{v.export} has a limit of {own}",
        expected=f"more than {v.writes}Mi",
        hint="the LimitRange gives 500Mi to a container that says nothing",
    )
    started = (pod.status.container_statuses[0].state.get("running") or {}).get("startedAt")
    facts.expect(
        started is not None and facts.seconds_since(started) >= 30,
        found=f"{v.export} has not written all yet",
        expected=f"{v.export} running for 30 s",
        hint="it begins after 10 s, and the kubelet looks every 10 s: lab.cluster.advance(40)",
    )


@checks.again("export", "the next night")
def next_night(facts: Experiment) -> None:
    """The export is made again, works while it writes, and writes all of it."""
    v = facts.variant
    facts.make_again(v.export, 20, main=f"10s disk=100Mi; cpu=50m memory=40Mi disk={v.writes}Mi")
    hint = "a CPU limit below its use slows the export down, whatever it may write"
    facts.gets_cpu(v.export, 50, "the 50m that it works with", hint)
    facts.let_pass(10)
    facts.runs(v.export, "it starts from your manifest: whose limit does it have?")


@checks.again("api", "the noon rush")
def rush(facts: Experiment) -> None:
    """A neighbour is busy: what is requested is there all the same."""
    v = facts.variant
    facts.neighbour("node-1", "cpu=4 memory=20Mi", "rush")
    facts.let_pass(2)
    facts.gets_cpu(v.api, 400, "the 400m that it works with")


@checks.observed("says", at_start=True)
def says(facts: Experiment) -> str:
    v = facts.variant
    facts.resize(v.api, {"main": {"requests": {"cpu": f"{v.wants}m"}}})
    facts.let_pass(5)
    conditions = facts.pod(v.api).status.conditions
    found = next((c.reason for c in conditions if c.type == "PodResizePending"), "")
    return found or "it has none: the resize is done"
