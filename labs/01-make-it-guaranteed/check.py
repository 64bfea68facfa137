"""The pod is Guaranteed because of what its containers ask for, and the kernel was told so."""

from kitlib.lab import Checks, Facts, Wrong

checks = Checks()


def both_containers(facts: Facts):
    pod = facts.pod("web")
    names = {container.name for container in pod.spec.containers}
    facts.expect(
        {"server", "log"} <= names,
        found=f"containers {sorted(names)}",
        expected="the containers server and log, both",
        hint="taking a container away changes the class, but the team needs its logs: give log resources instead",
    )
    return pod


@checks.check("guaranteed")
def guaranteed(facts: Facts) -> None:
    pod = both_containers(facts)
    if pod.status.qos_class == "Guaranteed":
        server = next(c for c in pod.spec.containers if c.name == "server")
        cpu = server.resources.requests["cpu"].milli_value()
        facts.expect(
            cpu >= 250,
            found=f"server requests {cpu}m of CPU",
            expected="at least the 250m that it requested before",
            hint="raise the request to the limit, or lower the limit, but not below what the server needs",
            credit=0.5,
        )
        return
    for container in pod.spec.containers:
        resources = container.resources
        missing = [name for name in ("cpu", "memory") if name not in resources.limits]
        if missing and len(missing) < 2:
            raise Wrong(
                f"{container.name} has no {missing[0]} limit",
                "limits for CPU and memory in every container",
                f"add limits.{missing[0]} to {container.name}",
                credit=0.5,
            )
    unlimited = [c.name for c in pod.spec.containers if not c.resources.limits]
    if unlimited == ["server", "log"]:
        raise Wrong(
            f"class {pod.status.qos_class}: no container has limits",
            "class Guaranteed",
            "without any request and limit the pod is BestEffort, the first to be killed",
        )
    if unlimited:
        raise Wrong(
            f"class {pod.status.qos_class}: {', '.join(unlimited)} has no limits",
            "class Guaranteed",
            f"{unlimited[0]} is small, but it counts: give it a CPU and a memory limit",
            credit=0.25,
        )
    raise Wrong(
        f"class {pod.status.qos_class}: requests are below limits",
        "class Guaranteed",
        "make each request equal to its limit, or leave the requests out: they are then filled in from the limits",
        credit=0.5,
    )


@checks.check("cgroup")
def cgroup(facts: Facts) -> None:
    pod = both_containers(facts)
    tree = facts.tree(pod.spec.node_name)
    own = next((c for c in tree.of_pod(pod.metadata.uid) if c.kind == "pod"), None)
    if own is None:
        raise Wrong("no cgroup for web", "a pod that runs", "is the pod scheduled? look at its status and events")
    facts.expect(
        "burstable" not in own.path and "besteffort" not in own.path,
        found=f"cgroup {own.path}",
        expected="a cgroup directly below kubepods",
        hint="only Guaranteed pods stand there: do the first task first",
    )
    wanted = sum(c.resources.limits["memory"].value() for c in pod.spec.containers)
    file = "memory.max" if "memory.max" in own else "memory.limit_in_bytes"
    found = facts.cgroup(pod, file)
    facts.expect(found == str(wanted), found=f"{file} {found}", expected=f"{wanted}, the sum of the limits")


@checks.observed("before", at_start=True)
def before(facts: Facts) -> str:
    return facts.pod("web").status.qos_class
