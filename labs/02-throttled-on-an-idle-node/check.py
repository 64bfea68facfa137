"""The quota is gone, the weight is not."""

from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()


def quota(facts: Facts) -> str:
    """What limits the pod's CPU time: "" for nothing."""
    pod = facts.pod("api")
    tree = facts.tree(pod.spec.node_name)
    version_2 = any("cpu.max" in cgroup for cgroup in tree.of_pod(pod.metadata.uid))
    file = "cpu.max" if version_2 else "cpu.cfs_quota_us"
    for container in ("", "main"):
        value = facts.cgroup(pod, file, container)
        if not value.startswith(("max", "-1")):
            return f"{file} {value} of the {'container' if container else 'pod'}"
    return ""


@checks.check("throttle")
def throttle(facts: Facts) -> None:
    pod = facts.pod("api")
    main = pod.spec.containers[0]
    if not main.command or "stress-ng" not in main.command[0]:
        raise Wrong(
            f"the command is {main.command}", "the same work as before", "keep the command: the work must be done"
        )
    left = quota(facts)
    if not left:
        return
    limit = main.resources.limits.get("cpu")
    raise Wrong(
        f"{left}: it still stops after its share of each period",
        "no quota",
        "a bigger limit is still a limit: it throttles as soon as the load grows"
        if limit is not None and limit.milli_value() > 200
        else "which of the two, request or limit, becomes the quota?",
        credit=0.5 if limit is not None and limit.milli_value() >= 1000 else 0.0,
    )


@checks.check("share")
def share(facts: Facts) -> None:
    pod = facts.pod("api")
    requests = pod.spec.containers[0].resources.requests
    found = requests["cpu"].milli_value() if "cpu" in requests else 0
    facts.expect(
        found >= 200,
        found=f"a CPU request of {found}m",
        expected="at least 200m",
        hint="a limit that goes takes the request with it if only the limit was written: write requests.cpu",
    )
    memory = pod.spec.containers[0].resources.limits.get("memory")
    facts.expect(
        memory is not None,
        found="no memory limit",
        expected="the memory limit that there was",
        hint="memory cannot be taken back as CPU can: keep its limit",
        credit=0.5,
    )


@checks.observed("usage", at_start=True)
def usage(facts: Experiment) -> float:
    return facts.cpu_usage("api")
