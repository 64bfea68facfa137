"""It works at full speed with all that it keeps, below a limit, and was not restarted meanwhile."""

from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()
SECONDS = 10
FULL = 950
"""Milli-CPU of the one that it could use."""


@checks.check("fast", trial=True)
def fast(facts: Experiment) -> None:
    pod = facts.pod(facts.variant.pod)
    if pod.status.phase != "Running":
        facts.needs_to_run(pod)
    facts.let_pass(SECONDS)  # what it needs comes back from swap
    needs_its_process(facts)
    facts.needs_to_run(facts.pod(pod.name))
    used = facts.cpu_usage(facts.variant.pod, SECONDS)
    needs_its_process(facts)
    facts.expect(
        used >= FULL,
        found=f"it uses {used:.0f}m of 1000m",
        expected="the CPU that it could use",
        hint=f"it waits for pages from swap: where do the {facts.variant.hot} MiB lie that it needs all the time?",
    )


def needs_its_process(facts: Facts) -> None:
    """Go on if the container runs and no limit has killed it."""
    status = next((s for s in facts.pod(facts.variant.pod).status.container_statuses if s.name == "main"), None)
    if status is None:
        raise Wrong("no container main", "the container main runs", "its work is declared for main: keep the name")
    ended = (status.last_state.get("terminated") or {}).get("reason", "")
    if ended == "OOMKilled" or "running" not in status.state:
        raise Wrong(
            f"{status.restart_count} restarts, last {ended or 'not started'}",
            "no restart",
            f"without swap all {facts.variant.whole} MiB must fit, with it what the limit and the swap hold together",
        )


@checks.check("bounded")
def bounded(facts: Facts) -> None:
    facts.needs_a_memory_limit(facts.pod(facts.variant.pod), "main", facts.variant.cap)


@checks.again("fast", "the next replica")
def replica(facts: Experiment) -> None:
    """The pod is made again, and a second one beside it on the same node is as fast."""
    facts.make_again(facts.variant.pod, 2 * SECONDS)
    needs_its_process(facts)
    hint = "the node must have room for both: request what one of them needs"
    for name in (facts.variant.pod, facts.busy_replica(facts.variant.pod, 2 * SECONDS, hint)):
        used = facts.cpu_usage(name, SECONDS)
        facts.expect(used >= FULL, found=f"{name} uses {used:.0f}m of 1000m", expected="the CPU that it could use")


@checks.observed("speed", at_start=True)
def speed(facts: Experiment) -> float:
    facts.let_pass(SECONDS)
    return round(facts.cpu_usage(facts.variant.pod, SECONDS) / 10, 1)
