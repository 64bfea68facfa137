"""The pods are bound by the learner's scheduler: packed, admitted by the kubelet, and with the claim's volume."""

from kitlib.api.podresources import pod_requests
from kitlib.lab import Checks, Experiment, Facts

checks = Checks()
NIGHT = "3"
"""CPUs of the night's job: more than any node has left that runs a pod of this lab."""


def queue(variant) -> tuple[str, ...]:
    """The pods of the learner's scheduler."""
    return (*(f"{variant.first}-{n}" for n in (1, 2, 3)), variant.store)


@checks.check("packed")
def packed(facts: Facts) -> None:
    v = facts.variant
    for name in queue(v):
        pod = facts.pod(name)
        facts.expect(
            pod.status.phase != "Failed",
            found=f"{name} was rejected on {pod.spec.node_name}: {pod.status.reason}",
            expected=f"{name} on a node with room",
            hint="the kubelet counts requests too, and a rejected pod is never placed again: lab.reset() starts again",
        )
        facts.expect(
            bool(pod.spec.node_name),
            found=f"{name} has no node",
            expected=f"{name} bound to a node",
            hint=f'a POST to its binding, or lab.cluster.bind("{name}", NODE)',
        )
        cpu = pod_requests(pod)["cpu"]
        facts.expect(
            pod.status.phase == "Running" or name == v.store,
            found=f"{name} is {pod.status.phase} on {pod.spec.node_name} with {cpu} CPU",
            expected=f"{name} running",
            hint="does the node exist? The kubelet needs some seconds: lab.cluster.advance(10)",
        )
    used = {pod.spec.node_name for pod in facts.pods("default")}
    empty = [node.metadata.name for node in facts.nodes() if node.metadata.name not in used]
    facts.expect(
        bool(empty),
        found=f"pods on {', '.join(sorted(used))}: no node is empty",
        expected="one empty node",
        hint="the pods fit on two nodes: fill one before you use the next. A binding is for good, so lab.reset()",
        credit=0.5,
    )


@checks.check("volume")
def volume(facts: Facts) -> None:
    v = facts.variant
    pod = facts.pod(v.store)
    claim = facts.find("PersistentVolumeClaim", f"{v.store}-data")
    selected = claim.metadata.annotations.get("volume.kubernetes.io/selected-node", "") if claim else ""
    if selected and pod.spec.node_name and selected != pod.spec.node_name:
        hint = f"the volume is made for {selected}, and the pod is on {pod.spec.node_name}: lab.reset() starts again"
    elif selected:
        hint = "the provisioner needs some seconds: lab.cluster.advance(30)"
    else:
        hint = "its volume is not there: the claim waits for a scheduler. Which annotation does its provisioner read?"
    facts.needs_to_run(pod, hint)


@checks.again("packed", "the night")
def the_night(facts: Experiment) -> None:
    """kube-scheduler places the night's job on the empty node, and the kubelets admit all pods again."""
    v = facts.variant
    container = {"name": "main", "image": f"example/{v.night}:1", "command": ["sleep", "infinity"]}
    container["resources"] = {"requests": {"cpu": NIGHT, "memory": "1Gi"}}
    facts.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": v.night}, "spec": {"containers": [container]}})
    facts.let_pass(15)
    facts.runs(v.night, f"it requests {NIGHT} CPUs, so it needs a node of its own")
    for node in facts.nodes():
        facts.restart_kubelet(node.metadata.name)
    facts.let_pass(15)
    for name in (v.night, v.resident, *queue(v)[:3]):
        facts.runs(name, "a kubelet that restarts admits its pods again, by their requests")


@checks.again("volume", "the store's pod is made again")
def made_again(facts: Experiment) -> None:
    """The scheduler binds the new pod to the node that the volume has."""
    v = facts.variant
    node = facts.pod(v.store).spec.node_name
    facts.make_again(v.store)
    facts.bind(v.store, node)
    facts.let_pass(30)
    facts.runs(v.store, "the volume stays where it was made: is the claim bound?")


@checks.observed("full", at_start=True)
def full(facts: Experiment) -> str:
    v = facts.variant
    for number in (1, 3, 2):
        facts.bind(f"{v.first}-{number}", v.busy)
    facts.let_pass(15)
    pod = facts.pod(f"{v.first}-2")
    if pod.status.phase == "Failed":
        return "the kubelet rejects it, and it fails"
    return "it runs: only a scheduler counts requests" if pod.status.phase == "Running" else pod.status.phase


@checks.observed("claim", at_start=True)
def claim(facts: Experiment) -> str:
    v = facts.variant
    facts.bind(v.store, v.second)
    facts.let_pass(60)
    pod = facts.pod(v.store)
    waiting = [one.state.get("waiting") or {} for one in pod.status.container_statuses]
    return next((one["reason"] for one in waiting if one.get("reason")), pod.status.phase)
