"""The pod runs because the scheduler preempted, and preempted no more than it had to."""

from kitlib.api.podresources import pod_requests
from kitlib.lab import Checks, Experiment, Facts, Wrong
from kitlib.lab.history import Moment

checks = Checks()
SYSTEM = 2_000_000_000
"""Priorities from here on are the cluster's own (HighestUserDefinablePriority is a billion)."""


@checks.check("runs")
def runs(facts: Facts) -> None:
    v = facts.variant
    pod = facts.pod(v.urgent)
    cpu = pod_requests(pod).get("cpu")
    requested = cpu.milli_value() if cpu is not None else 0
    facts.expect(
        requested >= v.needs * 1000,
        found=f"{v.urgent} requests {requested}m of CPU",
        expected=f"the {v.needs} CPU that it needs",
        hint=f"a smaller request fits, and then the pod is too slow: it needs {v.needs} CPU",
    )
    facts.expect(
        (pod.spec.priority or 0) < SYSTEM,
        found=f"{v.urgent} has the class {pod.spec.priority_class_name}",
        expected="a class for applications",
        hint="the system classes are for what the cluster itself cannot run without: with one of them, an application "
        "comes before the cluster's own components. Choose a class below them",
    )
    if pod.spec.node_name == "node-1":
        facts.needs_the_scheduler(pod)
        return
    if pod.spec.node_name:
        raise Wrong(
            f"{v.urgent} on {pod.spec.node_name}",
            f"{v.urgent} on node-1",
            f"node-2 is for {v.gpu} work: do not tolerate its taint",
        )
    if pod.spec.preemption_policy == "Never":
        raise Wrong(
            f"{v.urgent} is pending, preemptionPolicy Never",
            f"{v.urgent} on node-1",
            "its class never preempts: choose one that does, or make one",
        )
    raise Wrong(
        f"{v.urgent} is pending with priority {pod.spec.priority or 0}",
        f"{v.urgent} on node-1",
        "only pods of lower priority can be removed: compare the classes; then let the scheduler run, advance(60)",
    )


@checks.check("victims")
def victims(facts: Facts) -> None:
    v = facts.variant
    names = {pod.metadata.name for pod in facts.pods("default")}
    facts.expect(
        v.db in names,
        found=f"{v.db} is gone",
        expected=f"{v.db} running",
        hint="a priority above batch (100) and below database (10000) would have spared it, or a budget",
    )
    gone = 3 - sum(name.startswith(f"{v.batch}-") for name in names)
    facts.events("Preempted")
    facts.expect(
        gone > 0,
        found=f"all three {v.batch} pods are there",
        expected=f"{v.word} of them preempted",
        hint="nobody was removed yet: see the first task",
    )
    facts.expect(
        gone == v.needs,
        found=f"{gone} {v.batch} pods are gone",
        expected=f"{v.word}",
        hint=f"the scheduler removes as few pods as the request needs: {v.urgent} has to request {v.needs} CPU",
    )
    facts.expect(
        facts.pod(v.urgent).spec.node_name == "node-1",
        found=f"{v.urgent} is not on node-1",
        expected=f"{v.urgent} in their place",
        hint="they went for another pod: see the first task",
    )


@checks.never("default")
def default(moment: Moment) -> str:
    """A class is the default, so that it gives its priority to pods of others."""
    for key, one in moment.objects.items():
        if key[0] == "PriorityClass" and one.global_default:
            return (
                f"the PriorityClass {one.metadata.name} is the default (globalDefault): every new pod without a class "
                f"gets the priority {one.value}"
            )
    return ""


@checks.again("victims", "the batch pods are back tomorrow")
def tomorrow(facts: Experiment) -> None:
    """The same manifest preempts as many of them again, and the database stays."""
    v = facts.variant
    urgent = facts.manifest(v.urgent)
    facts.delete("Pod", v.urgent)
    left = [pod.metadata.name for pod in facts.pods("default", {"app": v.batch})]
    names = [f"{v.batch}-{n}" for n in range(1, 4)]
    facts.apply(*(facts.manifest(left[0], new_name=name) for name in names if name not in left)) if left else None
    facts.let_pass(15)
    facts.apply(urgent)
    facts.let_pass(90)
    facts.runs(v.urgent, "its class must let it preempt every time")
    facts.runs(v.db, "only the batch pods are worth less")
    gone = 3 - len(facts.pods("default", {"app": v.batch}))
    facts.expect(gone == v.needs, found=f"{gone} {v.batch} pods are gone", expected=v.word)


@checks.observed("removed", at_start=True)
def removed(facts: Experiment) -> int:
    v = facts.variant
    manifest = facts.manifest(v.urgent)
    manifest["spec"] = {**manifest["spec"], "priorityClassName": "may-preempt"}
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "may-preempt"}}
    facts.apply({**kind, "value": 1_000_000})
    facts.delete("Pod", v.urgent)
    facts.apply(manifest)
    facts.let_pass(60)
    return len({event.involved_object.name for event in facts.events("Preempted")})
