"""Both containers run and have run for a while, however they came to; and the sidecar has a bound."""

from kitlib.api.podresources import containers_of
from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()
SECONDS = 120
BOUND = 256 * 2**20


@checks.check("stable")
def stable(facts: Facts) -> None:
    pod = facts.pod(facts.variant.pod)
    statuses = {s.name: s for s in [*pod.status.init_container_statuses, *pod.status.container_statuses]}
    containers = {c.name: c for c in containers_of(pod)}
    for name in ("server", facts.variant.side):
        facts.expect(
            name in statuses and name in containers,
            found=f"no status of a container {name}",
            expected=f"server and {facts.variant.side}, both running",
            hint="is the pod scheduled, and are both containers in it?",
        )
        status = statuses[name]
        if "running" in status.state and facts.seconds_since(status.state["running"].get("startedAt")) >= SECONDS:
            facts.memory_limit(pod, name)
            continue
        facts.kernel_log(pod.spec.node_name)
        ended = status.last_state.get("terminated") or status.state.get("terminated") or {}
        if "running" in status.state and not ended:
            raise Wrong(
                f"{name} has run for {facts.seconds_since(status.state['running'].get('startedAt')):.0f} s",
                "two minutes without a restart",
                "let time pass: lab.cluster.advance(120)",
            )
        limit = containers[name].resources.limits.get("memory")
        raise Wrong(
            f"{name}: {status.restart_count} restarts, last {ended.get('reason', 'not started')}"
            f" with exit code {ended.get('exitCode', '-')}",
            "two minutes without a restart",
            f"{name} reaches its own limit of {limit}: how much does it need? After the change let two minutes pass"
            if ended.get("reason") == "OOMKilled"
            else f"why did {name} end? look at its state",
        )


@checks.check("bounded")
def bounded(facts: Facts) -> None:
    pod = facts.pod(facts.variant.pod)
    side = next((c for c in containers_of(pod) if c.name == facts.variant.side), None)
    limits = [side.resources.limits.get("memory") if side else None]
    if pod.spec.resources is not None:
        limits.append(pod.spec.resources.limits.get("memory"))
    bounds = [limit.value() for limit in limits if limit is not None]
    facts.expect(
        bool(bounds) and min(bounds) <= BOUND,
        found=f"{facts.variant.side} may use {f'{min(bounds)} bytes' if bounds else 'all of the node'}",
        expected="a limit of at most 256Mi",
        hint="without a limit a leak in the sidecar eats the node: be generous, not boundless",
    )


@checks.again("stable", "the next replica")
def replica(facts: Experiment) -> None:
    """A second pod of the same manifest does the work of a busy day, which its limits leave room for."""
    v = facts.variant
    side = f"2s cpu=0.05; cpu=0.05 memory={v.need * 11 // 10}Mi"
    work = {"server": f"cpu=0.45 memory={v.server_busy}Mi", v.side: side}
    hint = "every pod of this manifest has its limits, and server keeps almost all of its own limit"
    name = facts.busy_replica(v.pod, SECONDS, hint, **work)
    hint = "a CPU limit below what a container needs stops its work instead of its restarts"
    facts.gets_cpu(name, 500, f"500m: server 450m and {v.side} 50m", hint)


@checks.observed("who", at_start=True)
def who(facts: Facts) -> str:
    """The containers that were killed tell: only those whose own limit was reached."""
    statuses = facts.pod(facts.variant.pod).status.container_statuses
    killed = {s.name for s in statuses if s.restart_count or "running" not in s.state}
    return "a process of that container" if killed == {facts.variant.side} else "the biggest process of the pod"
