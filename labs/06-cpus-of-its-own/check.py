"""trader's cpuset belongs to it alone."""

from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.lab import Checks, Facts, Wrong

checks = Checks()


def cpus(facts: Facts, name: str) -> frozenset[int]:
    return facts.allowed_cpus(name, "main")


def wanted(facts: Facts) -> int:
    """Two CPUs of its own; one where the node has but two, and the other is the system's."""
    return 2 if facts.nodes()[0].status.capacity["cpu"].value() > 2 else 1


@checks.check("exclusive")
def exclusive(facts: Facts) -> None:
    pod = facts.pod("trader")
    facts.expect(
        bool(pod.spec.node_name) and pod.status.phase == "Running",
        found=f"trader is {pod.status.phase or 'pending'}: {pod.status.message}",
        expected="trader running",
        hint="does what it asks for fit? one CPU is reserved for the system",
    )
    mine, others = cpus(facts, "trader"), cpus(facts, "noise")
    count = wanted(facts)
    if len(mine) >= count and not mine & others:
        return
    limits = pod.spec.containers[0].resources.limits
    whole = "cpu" in limits and limits["cpu"].milli_value() % 1000 == 0
    if pod.status.qos_class != "Guaranteed":
        raise Wrong(
            f"trader is {pod.status.qos_class}, CPUs {format_cpus(mine)}",
            "a Guaranteed pod",
            "exclusive CPUs are for Guaranteed pods: requests must equal limits, for memory too",
            credit=0.25,
        )
    if not whole:
        raise Wrong(
            f"trader asks for {limits['cpu']} of CPU, CPUs {format_cpus(mine)}",
            "a whole number of CPUs",
            f"half a CPU cannot be exclusive: ask for {count}",
            credit=0.25,
        )
    raise Wrong(
        f"trader on {format_cpus(mine)}, noise on {format_cpus(others)}",
        f"{'two CPUs' if count == 2 else 'a CPU'} of trader's own",
        "one exclusive CPU is not two" if len(mine) == 1 else "the two still share CPUs",
        credit=0.5,
    )


@checks.check("noise")
def noise(facts: Facts) -> None:
    pod = facts.pod("noise")
    facts.expect(
        pod.status.phase == "Running" and bool(pod.spec.containers[0].resources.requests),
        found=f"noise is {pod.status.phase}",
        expected="noise running, with its request",
        hint="noise belongs to somebody: it may be moved to other CPUs, not removed",
    )
    mine, others = cpus(facts, "trader"), cpus(facts, "noise")
    facts.expect(
        not mine & others,
        found=f"noise on {format_cpus(others)}, trader on {format_cpus(mine)}",
        expected="no CPU in both",
        hint="do the first task first",
    )


@checks.observed("pool", at_start=True)
def pool(facts: Facts) -> int:
    return len(cpus(facts, "trader"))
