"""The kernel throttles no longer, every collection is fast enough, and the work is still the same."""

from kitlib.lab import Checks, Experiment

checks = Checks()
SECONDS = 10


@checks.check("throttle", trial=True)
def throttle(facts: Experiment) -> None:
    pod = facts.pod(facts.variant.pod)
    limited(facts, pod)
    facts.needs_to_run(pod)
    before = facts.cpu_stat(pod)
    facts.let_pass(SECONDS)
    after = facts.cpu_stat(pod)
    throttled = after["nr_throttled"] - before["nr_throttled"]
    facts.expect(
        throttled == 0,
        found=f"throttled in {throttled} periods of {SECONDS} seconds",
        expected="no throttled period",
        hint="what can all its threads use in one period of 100 ms, and how much is the quota?",
    )


@checks.check("fast", trial=True)
def fast(facts: Experiment) -> None:
    pod = facts.pod(facts.variant.pod)
    limited(facts, pod)
    facts.needs_to_run(pod)
    first = len(facts.burst_times(pod))
    facts.let_pass(SECONDS)
    took = facts.burst_times(pod)[first:]
    longest = round(1000 * max(took, default=10.0))
    facts.expect(
        longest <= facts.variant.deadline,
        found=f"a collection took {longest} ms",
        expected=f"at most {facts.variant.deadline} ms",
        hint=f"{facts.variant.work} ms of work, divided by how many threads?",
    )


def limited(facts: Experiment, pod) -> None:
    """A quota there is, and it is no larger than allowed."""
    limit = next((c.resources.limits.get("cpu") for c in pod.spec.containers if c.name == "main"), None)
    if limit is None and pod.spec.resources is not None:
        limit = pod.spec.resources.limits.get("cpu")
    facts.expect(
        limit is not None and limit.milli_value() <= facts.variant.cap,
        found=f"a CPU limit of {limit}" if limit is not None else "no CPU limit",
        expected=f"a limit of at most {facts.variant.cap}m",
        hint="neighbours on the node are to be safe from it: a limit there must be",
    )


@checks.again("throttle", "the next replica beside a busy neighbour")
def replica(facts: Experiment) -> None:
    """Another pod of the same manifest collects as often, and is not throttled either."""
    name = f"{facts.variant.pod}-2"
    facts.apply(facts.manifest(facts.variant.pod, new_name=name))
    facts.neighbour(facts.pod(facts.variant.pod).spec.node_name, "cpu=1 memory=20Mi")
    facts.let_pass(2)
    pod = facts.runs(name)
    before = facts.cpu_stat(pod)
    facts.let_pass(SECONDS)
    throttled, used = (facts.cpu_stat(pod)[key] - before[key] for key in ("nr_throttled", "usage_usec"))
    facts.expect(throttled == 0, found=f"throttled in {throttled} periods", expected="no throttled period")
    facts.expect(
        used >= 900 * facts.variant.work * SECONDS,
        found=f"{used // 1000} ms of work in {SECONDS} s",
        expected=f"{facts.variant.work} ms every second",
        hint="the work must be done",
    )


@checks.observed("share", at_start=True)
def share(facts: Experiment) -> float:
    return round(100 * facts.cpu_usage(facts.variant.pod) / facts.variant.limit, 1)
