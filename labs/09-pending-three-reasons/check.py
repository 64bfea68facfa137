"""The pod runs where it should, because what kept it away was changed, and no other pod had to go."""

from kitlib.api.core import Affinity, Toleration
from kitlib.api.podresources import containers_of, pod_requests
from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()
NODE = "fast-1"


@checks.check("reasons")
def reasons(facts: Facts) -> None:
    pod = facts.pod(facts.variant.pod)
    if pod.spec.node_name == NODE:
        cpu = pod_requests(pod).get("cpu")
        facts.expect(
            cpu is not None and cpu.milli_value() >= 1000,
            found=f"{pod.metadata.name} requests {cpu or 'no'} CPU",
            expected="a request of at least 1 CPU",
            hint="a pod without a request fits everywhere, and gets what the others leave: ask for what it needs",
        )
        facts.needs_the_scheduler(pod)
        return
    problems = [text for wrong, text in problems_of(facts, pod) if wrong]
    if pod.spec.node_name and not problems:
        raise Wrong(
            f"{pod.metadata.name} on {pod.spec.node_name}, where the scheduler may put it too",
            f"{pod.metadata.name} on {NODE}",
            f"say which nodes are good for it: only {NODE} and fast-2 have the fast disk, and fast-2 is full",
        )
    where = f"on {pod.spec.node_name}" if pod.spec.node_name else "pending"
    raise Wrong(
        f"{pod.metadata.name} is {where}; {'; '.join(problems) or 'what it asks for would fit'}",
        f"{pod.metadata.name} on {NODE}",
        problems[0] if problems else "let the scheduler run: lab.cluster.advance(10)",
        credit=(3 - len(problems)) / 4 if problems else 0.5,
    )


def problems_of(facts: Facts, pod) -> list[tuple[bool, str]]:
    """Each reason by itself: the scheduler is asked about the pod with the other two out of the way."""
    v = facts.variant

    def fits(*, places=False, taints=False, amounts=False) -> bool:
        tried = facts.pod(v.pod)
        tried.spec.node_name = ""
        if not places:
            tried.spec.node_selector, tried.spec.affinity = {}, Affinity()
        if not taints:
            tried.spec.tolerations = [Toleration(operator="Exists")]
        if not amounts:
            tried.spec.resources = None
            for container in containers_of(tried):
                container.resources.requests, container.resources.limits = {}, {}
        return NODE in facts.decision_for(tried).feasible

    asked = ", ".join(f"{key}={one}" for key, one in pod.spec.node_selector.items()) or "its affinity"
    return [
        (not fits(places=True), f"the selector ({asked}) leaves out {NODE}"),
        (not fits(taints=True), f"it does not tolerate team={v.team}:NoSchedule"),
        (not fits(amounts=True), f"it requests more than {NODE} has left"),
    ]


@checks.again("reasons", "the pod is made again tomorrow")
def tomorrow(facts: Experiment) -> None:
    """The pod waits for its node while that is cordoned, and runs there afterwards, where its work gets the CPU.

    The other team's pod is stopped meanwhile, and another node is as large and has the same taint, but no fast disk, so
    that neither a rule about that pod nor a large request can replace one about the node.
    """
    name = facts.variant.pod
    facts.add_node_like(NODE, "large-1", without="disk")
    facts.delete("Pod", facts.variant.other)
    facts.patch("Node", NODE, {"spec": {"unschedulable": True}})
    facts.make_again(name, 10, main="cpu=1 memory=20Mi")
    elsewhere = facts.pod(name).spec.node_name
    facts.expect(
        elsewhere in ("", NODE),  # a pod that tolerates everything may run on a cordoned node
        found=f"{name} on {elsewhere} while {NODE} is cordoned",
        expected=f"{name} waits for {NODE}",
        hint=f"the pod's data are on {NODE} only: a preference, or a label of several nodes, lets it run elsewhere",
    )
    facts.patch("Node", NODE, {"spec": {"unschedulable": False}})
    facts.let_pass(15)
    hint = f"does its manifest lead it there by itself, whether {facts.variant.other} runs or not?"
    pod = facts.runs(facts.variant.pod, hint)
    facts.expect(
        pod.spec.node_name == NODE,
        found=f"{pod.metadata.name} on {pod.spec.node_name}",
        expected=f"{pod.metadata.name} on {NODE}",
        hint="say which node is good for it",
    )
    hint = "the pod needs at least 1 CPU: a CPU limit below that throttles it, whatever the pod requests"
    facts.gets_cpu(pod.name, 1000, "1 CPU", hint)


@checks.observed("nodes", at_start=True)
def nodes(facts: Facts) -> int:
    """Asked of the scheduler, with the other two reasons out of the way."""
    pod = facts.pod(facts.variant.pod)
    pod.spec.node_selector = {}
    pod.spec.tolerations = [Toleration(operator="Exists")]
    return len(facts.decision_for(pod).feasible)
