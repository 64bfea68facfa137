"""Three pods with devices of their own, large enough together and none of them tainted."""

from kitlib.api.core import Pod
from kitlib.api.devices import ResourceClaim, ResourceSlice
from kitlib.api.serialize import to_dict
from kitlib.lab import Checks, Experiment, Facts, Wrong
from kitlib.lab.history import Moment

checks = Checks()
GIB = 2**30


def devices(facts: Facts) -> dict[tuple[str, str], object]:
    """(Pool, name) -> device."""
    v, found = facts.variant, {}
    for name in (v.pairs, v.single):
        one = facts.find("ResourceSlice", f"{name}-gpu", "")
        for device in one.spec.devices if isinstance(one, ResourceSlice) else ():
            found[one.spec.pool.name, device.name] = device
    return found


def given(facts: Facts, pod, container=None) -> list[tuple[str, str]]:
    """(Pool, name) of what the claims of a pod were given, or of the part that one of its containers gets.

    Source: kubelet cm/dra Manager.GetResources: a container gets the devices of the claims, or of the requests of a
    claim, that its resources.claims names.
    """
    names = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    names |= {one.name: one.resource_claim_name for one in pod.spec.resource_claims if one.resource_claim_name}
    found = []
    for entry, name in names.items():
        claim = facts.find("ResourceClaim", name, pod.metadata.namespace) if name else None
        allocation = claim.status.allocation if isinstance(claim, ResourceClaim) else None
        taken = {one.request or "" for one in container.resources.claims if one.name == entry} if container else {""}
        for one in allocation.devices.results if allocation else ():
            if taken & {"", one.request.partition("/")[0]}:
                found.append((one.pool, one.device))
    return found


def memory_of(there: dict[tuple[str, str], object], mine: list[tuple[str, str]]) -> int:
    """Bytes of GPU memory of devices."""
    sizes = [there[one].capacity.get("memory") for one in mine if one in there]
    return sum(size.value.value() for size in sizes if size is not None)


def why_pending(pod, pods) -> str:
    """What to look at, by which template a pod that waits and those that run name."""

    def template(one) -> str:
        return next((c.resource_claim_template_name or "" for c in one.spec.resource_claims), "")

    running = {template(one) for one in pods if one.spec.node_name}
    if len(pods) > 3 and running - {template(pod)}:
        return (
            "the old pod holds the device that the new one waits for, and the roll-out ends it only when the new one "
            "runs: let one be missing meanwhile (maxUnavailable: 1), or all (Recreate)"
        )
    if running == {template(pod)} and len(running) == 1 and sum(bool(one.spec.node_name) for one in pods) == 1:
        return "it still names the old template: a template in use is not changed, the Deployment names another one"
    return "which devices are left, and does the request take what it can get? lab.cluster.advance(30)"


@checks.check("serve")
def serve(facts: Facts) -> None:
    v, there = facts.variant, devices(facts)
    pods = [pod for pod in facts.pods_of(v.serve) if pod.metadata.deletion_timestamp is None]
    used: dict[tuple[str, str], str] = {}
    for pod in pods:
        if not pod.spec.node_name:
            message = next((c.message for c in pod.status.conditions if c.type == "PodScheduled"), "")
            raise Wrong(f"{pod.metadata.name} is pending: {message}", "three running pods", why_pending(pod, pods))
        facts.needs_the_scheduler(pod)
        facts.memory_usage(pod)
        mine = given(facts, pod)
        shared = next((used[one] for one in mine if one in used), "")
        facts.expect(
            not shared,
            found=f"{pod.metadata.name} shares a GPU with {shared}",
            expected="GPUs of its own",
            hint="one claim for all is one allocation for all: a template gives every pod a claim of its own",
        )
        used |= dict.fromkeys(mine, pod.metadata.name)
        memory = memory_of(there, mine)
        facts.expect(
            memory >= v.need * GIB,
            found=f"{pod.metadata.name} has {memory // GIB}Gi of GPU memory in {len(mine)} devices",
            expected=f"at least {v.need}Gi",
            hint="the model does not fit: one large device, or two small ones",
        )
        main = next(one for one in pod.spec.containers if one.name == "main")
        usable = given(facts, pod, main)
        memory = memory_of(there, usable)
        facts.expect(
            memory >= v.need * GIB,
            found=f"the container main of {pod.metadata.name} gets {len(usable)} of the pod's {len(mine)} GPUs "
            f"({memory // GIB}Gi)",
            expected=f"a container with at least {v.need}Gi",
            hint="a container gets only the devices of the claims that its resources.claims names",
        )
    facts.expect(
        len(pods) == 3,
        found=f"{len(pods)} pods",
        expected="3",
        hint=f"{v.serve} has three replicas: lab.cluster.advance(30)",
    )


@checks.check("healthy")
def healthy(facts: Facts) -> None:
    for pod in facts.pods("default", {"app": facts.variant.serve}):
        has_no_tainted(facts, pod)


def has_no_tainted(facts: Facts, pod: Pod) -> None:
    """Require that no device of a pod has a taint."""
    there = devices(facts)
    for one in given(facts, pod):
        facts.expect(
            one not in there or not there[one].taints,
            found=f"{pod.metadata.name} has {'/'.join(one)}, which is {facts.variant.fault}",
            expected="devices without a taint",
            hint="do not tolerate the taint in any alternative: the device is broken",
        )


@checks.never("tainted")
def tainted(moment: Moment) -> str:
    """A claim is given a device that has a taint, at any moment."""
    claim = moment.change.object if moment.change else None
    allocation = claim.status.allocation if isinstance(claim, ResourceClaim) else None
    mine = {(one.pool, one.device) for one in allocation.devices.results} if allocation else set()
    for one in moment.first.values() if mine else ():
        for device in one.spec.devices if isinstance(one, ResourceSlice) else ():
            if device.taints and (one.spec.pool.name, device.name) in mine:
                return f"the claim {claim.metadata.name} got {one.spec.pool.name}/{device.name}, which is tainted"
    return ""


@checks.again("serve", "a pod and a GPU are lost")
def lost(facts: Experiment) -> None:
    """The successor waits while too little is left for it, and gets devices of its own when the GPU is repaired."""
    v = facts.variant
    pods = facts.pods("default", {"app": v.serve})
    victim = next((pod for pod in pods if pod.spec.node_name == v.pairs), pods[0])
    broken = given(facts, victim)[0][1]
    plain = to_dict(facts.find("ResourceSlice", f"{v.pairs}-gpu", ""))["spec"]["devices"]
    fault = [{"key": f"example.com/{v.fault}", "value": "yes", "effect": "NoSchedule"}]
    tainted = [{**one, "taints": fault} if one["name"] == broken else one for one in plain]
    facts.patch("ResourceSlice", f"{v.pairs}-gpu", {"spec": {"devices": tainted}})
    facts.delete("Pod", victim.metadata.name)
    facts.let_pass(40)
    for pod in facts.pods("default", {"app": v.serve}):
        memory = memory_of(devices(facts), given(facts, pod)) // GIB
        has_no_tainted(facts, pod)
        facts.expect(
            not pod.spec.node_name or memory >= v.need,
            found=f"{pod.metadata.name} runs with {memory}Gi of GPU memory",
            expected=f"a pod that waits until {v.need}Gi are free",
            hint="every alternative of the request must be enough for the model, also the one that is used last",
        )
    facts.patch("ResourceSlice", f"{v.pairs}-gpu", {"spec": {"devices": plain}})
    facts.let_pass(60)
    serve(facts)


@checks.observed("refused", at_start=True)
def refused(facts: Facts) -> int:
    waiting = [p for p in facts.pods("default", {"app": facts.variant.serve}) if not p.spec.node_name]
    decision = facts.decision(waiting[0].metadata.name)
    return sum(any(s.plugin == "DynamicResources" for s in decision.statuses(node)) for node in decision.nodes)
