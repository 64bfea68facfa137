"""The pod takes what is left, and what is left is computed as the kubelet does."""

from kitlib.api.podresources import pod_requests
from kitlib.lab import Checks, Experiment, Facts

checks = Checks()
SLACK = 64 * 2**20


def left(facts: Facts, resource: str) -> int:
    """Allocatable of node-1 minus what agent requests; bytes, or milli-CPU."""
    node = facts.node("node-1")
    total, agent = node.status.allocatable[resource], pod_requests(facts.pod("agent")).get(resource)
    if agent is not None:
        total = total - agent
    return total.milli_value() if resource == "cpu" else total.value()


@checks.check("fits")
def fits(facts: Facts) -> None:
    name = facts.variant.pod
    pod = facts.pod(name)
    requested = pod_requests(pod).get("memory")
    facts.expect(
        requested is not None,
        found="no memory request",
        expected="a request",
        hint=f"{name} must ask for its memory",
    )
    available, asked = left(facts, "memory"), requested.value()
    facts.expect(
        asked <= available,
        found=f"{name} asks for {asked // 2**20} MiB, which is more than is left",
        expected="a request that fits",
        hint="subtract the reservations, the eviction threshold and the agent from 8192 MiB",
    )
    facts.expect(
        asked >= available - SLACK,
        found=f"{name} asks for {asked // 2**20} MiB, and more is left",
        expected="within 64 MiB of all",
        hint="it fits, but there is more: what did you subtract twice?",
        credit=0.5,
    )
    facts.expect(
        bool(pod.spec.node_name),
        found=f"{name} is pending",
        expected="running",
        hint="memory fits; does the CPU? then lab.cluster.advance(10)",
        credit=0.5,
    )
    facts.needs_the_scheduler(pod)
    enforced, expected = facts.limit_of_all_pods("node-1"), facts.variant.enforced * 2**20
    facts.expect(
        enforced <= expected,
        found=f"all pods together are limited to {enforced}",
        expected=f"the machine's memory less the reservations: {facts.variant.enforced} MiB",
        hint="the limit of /kubepods is the kubelet's: write it back, or lab.reset()",
    )


@checks.check("cpu")
def cpu(facts: Facts) -> None:
    requested = pod_requests(facts.pod(facts.variant.pod)).get("cpu")
    asked, available = (requested.milli_value() if requested else 0), left(facts, "cpu")
    facts.expect(
        asked == available,
        found=f"{asked}m of CPU",
        expected=f"all that is left ({'less' if asked > available else 'more'} than that)",
        hint="eviction thresholds take memory, not CPU; the agent holds some CPU too",
    )


@checks.again("fits", "the kubelet restarts")
def kubelet_restarts(facts: Experiment) -> None:
    """It computes what the node offers and admits each pod anew."""
    facts.restart_kubelet("node-1")
    facts.let_pass(30)
    facts.runs(facts.variant.pod, "the kubelet admits what fits into allocatable, and rejects the rest")
    facts.runs("agent")
    facts.make_again(facts.variant.pod, main="cpu=500m memory=1Gi")
    hint = "what the pod requests is for the work of main: a smaller limit, or a busy helper, must not take it away"
    facts.gets_cpu(facts.variant.pod, 500, "500m", hint, container="main")
    facts.runs(facts.variant.pod, hint)
    facts.make_again(facts.variant.pod, main="memory=2Gi")
    for number in range(1, 20):  # together with main they are larger than the node, whatever it reserves
        facts.neighbour("node-1", "2s; memory=400Mi", f"neighbour-{number}")
    facts.let_pass(20)
    hint = "when the node's memory ends, the kernel spares a container for its own request: main works, so it needs one"
    facts.runs(facts.variant.pod, hint)


@checks.observed("allocatable", at_start=True)
def allocatable(facts: Facts) -> float:
    node = facts.node("node-1")
    return node.status.allocatable["memory"].value() / 2**20
