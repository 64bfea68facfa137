"""The pod is Guaranteed because of what it asks for, its containers run, and the kernel was told so."""

from kitlib.api.podresources import containers_of, pod_limits, pod_requests
from kitlib.kubelet.config.machine import PAGE_SIZE
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT
from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()


@checks.check("guaranteed")
def guaranteed(facts: Facts) -> None:
    pod = facts.pod(facts.variant.pod)
    if pod.status.qos_class != "Guaranteed":
        why_not(facts, pod)
    server = next((c for c in containers_of(pod) if c.name == "server"), None)
    facts.expect(
        server is not None,
        found=f"containers {[c.name for c in containers_of(pod)]}",
        expected=f"the containers server and {facts.variant.side}, both",
        hint="taking a container away changes the class, but the team needs it: give it resources instead",
    )
    cpu = left_for(pod, server)
    facts.expect(
        cpu >= facts.variant.cpu,
        found=f"the server requests {cpu}m of CPU",
        expected=f"at least the {facts.variant.cpu}m that it requested before",
        hint="raise the request to the limit, or lower the limit, but not below what the server needs",
        credit=0.5,
    )
    for status in [*pod.status.init_container_statuses, *pod.status.container_statuses]:
        ended = status.last_state.get("terminated") or status.state.get("terminated") or {}
        facts.expect(
            "running" in status.state and not status.restart_count,
            found=f"{status.name}: {status.restart_count} restarts, last {ended.get('reason', 'not started')}",
            expected="both containers running",
            hint=f"{status.name} needs more memory than its limit: look at what it does (its annotation)"
            if ended.get("reason") == "OOMKilled"
            else "does the pod run? look at its status and events; a node needs some seconds to start it",
            credit=0.5,
        )
    facts.needs_to_run(pod, "does the pod fit on the node? look at its events", credit=0.5)


def left_for(pod, server) -> int:
    """What the server requests, or what the others leave it of the pod's own request, in milli-CPU."""
    own = server.resources.requests.get("cpu")
    if own is not None:
        return own.milli_value()
    whole = pod_requests(pod).get("cpu")
    others = [c.resources.requests["cpu"].milli_value() for c in containers_of(pod) if "cpu" in c.resources.requests]
    return whole.milli_value() - sum(others) if whole is not None else 0


def why_not(facts: Facts, pod) -> None:
    """Say which part keeps the pod from the class."""
    found = f"class {pod.status.qos_class}"
    if pod.spec.resources is not None:
        raise Wrong(
            f"{found}: the pod's own resources do not make it Guaranteed",
            "class Guaranteed",
            "spec.resources counts instead of the containers: it needs limits for CPU and memory, and requests "
            "equal to them",
        )
    containers = pod.spec.containers
    unlimited = [c.name for c in containers if not c.resources.limits]
    if len(unlimited) == len(containers):
        raise Wrong(
            f"{found}: no container has limits",
            "class Guaranteed",
            "without any request and limit the pod is BestEffort, the first to be killed",
        )
    if unlimited:
        raise Wrong(
            f"{found}: {', '.join(unlimited)} has no limits",
            "class Guaranteed",
            f"{unlimited[0]} is small, but it counts: give it a CPU and a memory limit",
        )
    for container in containers:
        missing = [name for name in ("cpu", "memory") if name not in container.resources.limits]
        if missing:
            raise Wrong(
                f"{container.name} has no {missing[0]} limit",
                "limits for CPU and memory in every container",
                f"add limits.{missing[0]} to {container.name}",
                credit=0.5,
            )
    raise Wrong(
        f"{found}: requests are below limits",
        "class Guaranteed",
        "make each request equal to its limit, or leave the requests out: they are then filled in from the limits",
        credit=0.5,
    )


@checks.check("cgroup")
def cgroup(facts: Facts) -> None:
    pod = facts.pod(facts.variant.pod)
    tree = facts.tree(pod.spec.node_name) if pod.spec.node_name else None
    own = next((c for c in tree.of_pod(pod.metadata.uid) if c.kind == "pod"), None) if tree else None
    if own is None:
        raise Wrong("no cgroup for the pod", "a pod that runs", "is the pod scheduled? look at its status and events")
    facts.expect(
        "burstable" not in own.path and "besteffort" not in own.path,
        found=f"cgroup {own.path}",
        expected="a cgroup directly below kubepods",
        hint="only Guaranteed pods stand there: do the first task first",
    )
    limit = pod_limits(pod)["memory"].value()
    wanted = limit - limit % PAGE_SIZE  # the kernel rounds down to a page: 20M is no multiple of one
    found = facts.memory_limit(pod)
    facts.expect(
        found == wanted,
        found=f"{MEMORY_LIMIT[tree.version]} {found}",
        expected=f"{wanted}, the memory limit of the whole pod",
        hint="the kubelet writes it when it makes the pod's cgroup",
    )


@checks.again("guaranteed", "a neighbour fills the node")
def pressure(facts: Experiment) -> None:
    """The pod is as busy as the brief says, then a pod without limits takes all memory: the kernel kills that one."""
    v = facts.variant
    facts.make_again(v.pod, **{"server": f"cpu={v.cpu}m memory=160Mi", v.side: "cpu=20m memory=14Mi"})
    hint = (
        "on busy days a container needs more than today: its limits must leave room for that. Without spec.resources, "
        "the limit of the pod is the sum of its containers' limits, and the pause container counts too"
    )
    pod = facts.runs(v.pod, hint)
    for container, cpu in (("server", v.cpu), (v.side, 20)):
        facts.gets_cpu(v.pod, cpu, f"{cpu}m, as on every busy day", hint, container=container)
    room = facts.node(pod.spec.node_name).status.capacity["memory"].value() // 2**20
    facts.neighbour(pod.spec.node_name, f"2s; memory={room}Mi")
    facts.let_pass(30)
    facts.runs(facts.variant.pod, "when the node's memory ends, the pod with the highest oom_score_adj goes first")


@checks.observed("before", at_start=True)
def before(facts: Facts) -> str:
    return facts.pod(facts.variant.pod).status.qos_class
