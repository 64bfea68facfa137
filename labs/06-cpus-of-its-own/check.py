"""The pod's cpuset belongs to it alone, and is as large as was asked for."""

from kitlib.api.core import Container, Pod
from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()


def wanted(facts: Facts) -> int:
    """CPUs of its own; one where the node has but two, and the other is the system's."""
    return facts.variant.count if facts.nodes()[0].status.capacity["cpu"].value() > 2 else 1


def exclusive_of(pod: Pod) -> dict[str, int]:
    """Return the exclusive CPUs of each container of a Guaranteed pod that has some, native sidecars included.

    Source: staticPolicy.guaranteedCPUs.
    """
    sidecars = [c for c in pod.spec.init_containers if c.restart_policy == "Always"]
    return own_cpus([*pod.spec.containers, *sidecars])


def own_cpus(containers: list[Container]) -> dict[str, int]:
    """Return the exclusive CPUs of the containers that ask for a whole number."""
    limits = {c.name: c.resources.limits.get("cpu") for c in containers}
    milli = {name: limit.milli_value() for name, limit in limits.items() if limit is not None}
    return {name: one // 1000 for name, one in milli.items() if one and not one % 1000}


@checks.check("exclusive")
def exclusive(facts: Facts) -> None:
    v, count = facts.variant, wanted(facts)
    pod = facts.pod(v.trader)
    facts.needs_to_run(pod, "does what it asks for fit? one CPU is reserved for the system")
    facts.expect(
        any(c.name == "main" for c in pod.spec.containers),
        found="no container main",
        expected="the container main",
        hint="keep the container's name: it does the work",
    )
    mine, others = facts.allowed_cpus(v.trader, "main"), facts.allowed_cpus(v.noise, "main")
    if len(mine) == count and not mine & others:
        held = exclusive_of(pod)
        facts.expect(
            sum(held.values()) <= count,
            found=f"exclusive CPUs of {v.trader}: {', '.join(f'{name} {cpus}' for name, cpus in held.items())}",
            expected=f"exactly {count}, all of them for main",
            hint="every container that requests a whole number of CPUs takes them from the other pods: request a "
            "part of a CPU for the containers beside main",
            credit=0.5,
        )
        larger = {name: cpus for name, cpus in own_cpus(pod.spec.init_containers).items() if cpus > count}
        facts.expect(
            not larger,
            found=f"exclusive CPUs of init containers: {', '.join(f'{name} {cpus}' for name, cpus in larger.items())}",
            expected=f"at most {count}, which main gets from them",
            hint="the pod keeps the largest request of its init containers from others for as long as it runs",
            credit=0.5,
        )
        return
    if pod.spec.resources is not None:
        raise Wrong(
            f"{v.trader} has resources of its own (spec.resources), CPUs {format_cpus(mine)}",
            "a whole number of CPUs for the container main, and no resources of the pod as a whole",
            "the static policy leaves out pods with spec.resources: give them to the containers",
        )
    main = next(c for c in pod.spec.containers if c.name == "main")
    cpu = main.resources.limits.get("cpu")
    if pod.status.qos_class != "Guaranteed":
        raise Wrong(
            f"{v.trader} is {pod.status.qos_class}, CPUs {format_cpus(mine)}",
            "a Guaranteed pod",
            "exclusive CPUs are for Guaranteed pods: requests must equal limits, for memory too",
        )
    if cpu is None:
        raise Wrong(
            f"only the pod as a whole asks for CPU, {v.trader} is on {format_cpus(mine)}",
            "a whole number of CPUs for the container main",
            "the CPU manager looks at containers: give main its own limits",
        )
    if cpu.milli_value() % 1000:
        raise Wrong(
            f"{v.trader} asks for {cpu} of CPU, CPUs {format_cpus(mine)}",
            "a whole number of CPUs",
            f"part of a CPU cannot be exclusive: ask for {count}",
        )
    if mine & others:
        raise Wrong(
            f"{v.trader} on {format_cpus(mine)}, {v.noise} on {format_cpus(others)}",
            f"CPUs of its own: {count}",
            "the two still share CPUs: let the kubelet look again, lab.cluster.advance(20)",
        )
    raise Wrong(
        f"the container main of {v.trader} has {len(mine)} CPUs of its own: {format_cpus(mine)}",
        f"exactly {count}",
        "fewer than it needs" if len(mine) < count else f"more than it needs, and {v.noise} has lost them",
        credit=0.5,
    )


@checks.again("exclusive", "another team's pod arrives")
def newcomer(facts: Experiment) -> None:
    """A pod that comes later gets the shared pool, and not the CPUs that are taken."""
    v = facts.variant
    facts.neighbour(facts.pod(v.trader).spec.node_name, "cpu=4 memory=20Mi", memory="256Mi")
    facts.let_pass(20)
    facts.runs("neighbour", f"{v.trader} needs CPUs of its own, not all of the node's memory: it has no use for that")
    mine, others = facts.allowed_cpus(v.trader, "main"), facts.allowed_cpus("neighbour", "main")
    facts.expect(
        len(mine) == wanted(facts) and not mine & others,
        found=f"{v.trader} on {format_cpus(mine)}, the new pod on {format_cpus(others)}",
        expected="CPUs that no other container may use",
        hint="exclusive CPUs leave the shared pool for as long as the container runs",
    )


@checks.observed("pool", at_start=True)
def pool(facts: Facts) -> int:
    return len(facts.allowed_cpus(facts.variant.trader, "main"))
