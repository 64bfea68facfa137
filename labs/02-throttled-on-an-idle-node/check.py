"""The kernel throttles no longer, measured; and the weight is not smaller than it was."""

from kitlib.api.podresources import pod_requests
from kitlib.lab import Checks, Experiment, Facts

checks = Checks()
SECONDS = 5
PERIOD = 100_000
"""Microseconds of a period of bandwidth control, as the kubelet sets it."""
TOLERATED = 0.02
"""Part of the periods: where quota and use are equal, a late timer throttles now and then on a real kernel."""


@checks.check("throttle", trial=True)
def throttle(facts: Experiment) -> None:
    pod = facts.pod(facts.variant.pod)
    facts.needs_to_run(pod, "does it fit on the node? look at its events")
    limit = cpu_limit(pod)
    hint = (
        f"a limit of {limit} is more than before, but the work can use more: it throttles all the same"
        if limit is not None and limit.milli_value() > facts.variant.cpu
        else "which of the two, request or limit, becomes the quota?"
    )
    if not facts.replayed:
        quota(facts, pod, hint)
        return
    before = facts.cpu_stat(pod)
    facts.let_pass(SECONDS)
    after = facts.cpu_stat(pod)
    periods, throttled, used = (after[key] - before[key] for key in ("nr_periods", "nr_throttled", "usage_usec"))
    usage = used / SECONDS / 1000
    facts.expect(
        throttled <= periods * TOLERATED,
        found=f"throttled in {throttled} of {periods} periods, using {usage:.0f}m",
        expected="no throttling while CPUs are idle",
        hint=hint,
    )
    facts.expect(
        usage > 1.5 * facts.variant.cpu,
        found=f"{pod.metadata.name} uses {usage:.0f}m",
        expected="the same work as before, which can use a whole CPU",
        hint="keep the command: the work must be done",
    )
    if pod.status.qos_class != "Guaranteed":
        facts.remark(
            f"{pod.metadata.name} is {pod.status.qos_class} now and was Guaranteed: when the node's memory ends it is "
            "killed before Guaranteed pods. Request and limit of 1 CPU would have kept the class"
        )


def cpu_limit(pod):
    """The CPU limit of the container main, or of the pod as a whole; None = none."""
    own = next((c.resources.limits.get("cpu") for c in pod.spec.containers if c.name == "main"), None)
    return own or (pod.spec.resources.limits.get("cpu") if pod.spec.resources else None)


def quota(facts: Experiment, pod, hint: str) -> None:
    """On a real node, which others may keep busy: no quota below the one CPU that the work can use."""
    version = facts.tree(pod.spec.node_name).version
    for container in ("", "main"):
        value = facts.cgroup(pod, "cpu.max" if version == 2 else "cpu.cfs_quota_us", container).split()[0]
        facts.expect(
            value in ("max", "-1") or int(value) >= PERIOD,
            found=f"a quota of {value} of {PERIOD} microseconds",
            expected="no quota, or one that the work cannot use up",
            hint=hint,
        )


@checks.check("share")
def share(facts: Facts) -> None:
    requests = pod_requests(facts.pod(facts.variant.pod))
    found = requests["cpu"].milli_value() if "cpu" in requests else 0
    facts.expect(
        found >= facts.variant.cpu,
        found=f"a CPU request of {found}m",
        expected=f"at least {facts.variant.cpu}m",
        hint="a limit that goes takes the request with it if only the limit was written: write requests.cpu",
    )


@checks.again("share", "two neighbours are busy")
def busy(facts: Experiment) -> None:
    """Neighbours without requests use what they get: the pod still has what it requests."""
    pod = facts.pod(facts.variant.pod)
    for n in range(2):
        facts.neighbour(pod.spec.node_name, "cpu=2 memory=20Mi", f"neighbour-{n}")
    facts.let_pass(2)
    v = facts.variant
    facts.gets_cpu(v.pod, v.cpu, f"the {v.cpu}m that it requested", "the weight comes from the CPU request")


@checks.observed("periods", at_start=True)
def periods(facts: Experiment) -> float:
    pod = facts.pod(facts.variant.pod)
    before = facts.cpu_stat(pod)
    facts.let_pass(SECONDS)
    after = facts.cpu_stat(pod)
    passed, stopped = (after[key] - before[key] for key in ("nr_periods", "nr_throttled"))
    return 100 * stopped / max(passed, 1)
