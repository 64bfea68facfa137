"""The sidecar has the memory that it needs, and nothing else was changed."""

from kitlib.lab import Checks, Facts, Wrong

checks = Checks()


@checks.check("stable")
def stable(facts: Facts) -> None:
    pod = facts.pod("shop")
    statuses = {status.name: status for status in pod.status.container_statuses}
    for name in ("server", "shipper"):
        if name not in statuses:
            raise Wrong(
                f"no container {name}", "server and shipper", "the orders must be shipped: keep both containers"
            )
    for name, status in statuses.items():
        if status.restart_count == 0 and "running" in status.state:
            continue
        facts.kernel_log(pod.spec.node_name)
        ended = status.last_state.get("terminated") or status.state.get("terminated") or {}
        limit = next(c.resources.limits.get("memory") for c in pod.spec.containers if c.name == name)
        raise Wrong(
            f"{name}: {status.restart_count} restarts, last {ended.get('reason', 'not started')}"
            f" with exit code {ended.get('exitCode', '-')}",
            "no restart",
            f"{name} reaches its own limit of {limit}: how much does it need?"
            if ended.get("reason") == "OOMKilled"
            else f"why did {name} end? look at its state",
        )
    for name in statuses:
        facts.memory_limit(pod, name)
    started = facts.seconds_running("shop")
    facts.expect(
        started >= 120,
        found=f"running for {started:.0f} s",
        expected="two minutes without a restart",
        hint="let time pass: lab.cluster.advance(120)",
        credit=0.5,
    )


@checks.check("kept")
def kept(facts: Facts) -> None:
    pod = facts.pod("shop")
    containers = {c.name: c for c in pod.spec.containers}
    facts.expect(
        {"server", "shipper"} <= containers.keys(),
        found=f"containers {sorted(containers)}",
        expected="server and shipper",
        hint="keep both containers",
    )
    server = containers["server"].resources
    facts.expect(
        str(server.limits.get("memory")) == "160Mi" and str(server.limits.get("cpu")) == "500m",
        found=f"server limits { ({k: str(v) for k, v in server.limits.items()}) }",
        expected="cpu 500m, memory 160Mi",
        hint="the server was not the problem: give it back what it had",
    )
    shipper, work = containers["shipper"], facts.work(pod, "shipper")
    facts.expect(
        work.split()[-1:] == ["memory=60Mi"],
        found=f"shipper does {work or 'nothing'!r}",
        expected="the work that it had",
        hint="it ships 60 MiB at a time: change the limit, not the work",
    )
    limit = shipper.resources.limits.get("memory")
    facts.expect(
        limit is not None and limit.value() <= 256 * 2**20,
        found=f"shipper's memory limit {limit}",
        expected="a limit of at most 256Mi",
        hint="without a limit a leak in the sidecar eats the node: be generous, not boundless",
        credit=0.5,
    )


@checks.observed("who", at_start=True)
def who(facts: Facts) -> str:
    """The containers that were killed tell: only those whose own limit was reached."""
    killed = {
        s.name for s in facts.pod("shop").status.container_statuses if s.restart_count or "running" not in s.state
    }
    return "a process of that container" if killed == {"shipper"} else "the biggest process of the pod"
