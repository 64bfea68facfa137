"""The pod is placed in its pool, and it still spreads with its own kind."""

from kitlib.api.core import Node, Pod
from kitlib.api.podresources import containers_of
from kitlib.api.selectors import LabelSelectorMatcher, matches_required_node_affinity
from kitlib.lab import Checks, Experiment, Facts

checks = Checks()
ZONE = "topology.kubernetes.io/zone"


@checks.check("placed")
def placed(facts: Facts) -> None:
    v = facts.variant
    pod = facts.pod(f"{v.app}-2")
    events = facts.events("FailedScheduling", pod.metadata.name)
    facts.expect(
        bool(pod.spec.node_name),
        found=f"{pod.metadata.name} is pending: {events[-1].message if events else 'no event yet'}",
        expected=f"{pod.metadata.name} on {v.free}",
        hint=f"zone {v.b} is full of pods that the constraint counts: whose are they, and where do they stand?",
    )
    pool = {node.metadata.name for node in facts.nodes() if node.metadata.labels.get("pool") == v.pool}
    outside = sorted(allowed(facts, pod) - pool)
    facts.expect(
        not outside,
        found=f"{pod.metadata.name} on {pod.spec.node_name}, and it might as well use {', '.join(outside)}",
        expected=f"a pod that may use the pool {v.pool} only",
        hint=f"{v.foreign} belongs to another pool: keep the affinity, or say the same with a selector",
    )
    wider = [node.metadata.labels for node in elsewhere(facts, pod) if matches_required_node_affinity(pod, node)]
    facts.expect(
        not wider,
        found=f"{pod.metadata.name} might also use a new node {pool_of(wider[0] if wider else {})}",
        expected=f"a pod that may use the pool {v.pool} only",
        hint="the affinity names one pool: with another pool, or as NotIn, it is weaker",
    )
    facts.expect(
        pod.spec.node_name == v.free,
        found=f"{pod.metadata.name} on {pod.spec.node_name}",
        expected=f"{pod.metadata.name} on {v.free}, in the pool {v.pool}",
        hint=f"{v.foreign} belongs to others, and {v.full} is full: keep the affinity",
    )
    facts.needs_the_scheduler(pod)


def allowed(facts: Facts, pod) -> set[str]:
    """The nodes that a pod's own selectors allow, whatever is free there and wherever it spreads."""
    tried = facts.pod(pod.metadata.name)
    tried.spec.node_name, tried.spec.topology_spread_constraints = "", []
    for container in containers_of(tried):
        container.resources.requests, container.resources.limits = {}, {}
    return set(facts.decision_for(tried).feasible)


def elsewhere(facts: Facts, pod: Pod) -> list[Node]:
    """New nodes like those of the cluster that are in no pool, or in each other pool that the pod names."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else []
    named = {value for term in terms for one in term.match_expressions if one.key == "pool" for value in one.values}
    found = []
    for pool in ("", "new", *sorted(named - {facts.variant.pool})):
        for node in facts.nodes():
            node.metadata.name = node.metadata.labels["kubernetes.io/hostname"] = "new"
            node.metadata.labels["pool"] = pool
            if not pool:
                del node.metadata.labels["pool"]
            found.append(node)
    return found


def pool_of(labels: dict[str, str]) -> str:
    """The pool of a node, in words."""
    pool = labels.get("pool")
    return f"of the pool {pool}" if pool else "without a pool"


@checks.check("constraint")
def constraint(facts: Facts) -> None:
    names = [f"{facts.variant.app}-1", f"{facts.variant.app}-2"]
    zones = [c for c in facts.pod(names[1]).spec.topology_spread_constraints if c.topology_key == ZONE]
    facts.expect(
        bool(zones),
        found="no constraint on zones",
        expected="maxSkew 1, DoNotSchedule, over zones",
        hint="without the constraint the pod is placed, and all pods may end up in one zone",
    )
    hard = [c for c in zones if c.when_unsatisfiable == "DoNotSchedule"]
    facts.expect(
        bool(hard),
        found=zones[0].when_unsatisfiable,
        expected="DoNotSchedule",
        hint="ScheduleAnyway is a wish, not a rule: a full zone would put all new pods into the other one",
    )
    tight = [c for c in hard if c.max_skew == 1]
    facts.expect(
        bool(tight),
        found=f"maxSkew {hard[0].max_skew}",
        expected="maxSkew 1",
        hint="a bigger skew hides the problem until the next pod comes",
    )
    pods = [facts.pod(name) for name in names]
    missed = [
        pod.metadata.name
        for pod in pods
        if not any(LabelSelectorMatcher(c.label_selector).matches(pod.metadata.labels) for c in tight)
    ]
    facts.expect(
        not missed,
        found=f"a selector that does not match {' and '.join(missed)}",
        expected=f"a selector that counts {' and '.join(names)}",
        hint="a constraint that does not count its own kind is always satisfied",
    )


@checks.again("constraint", "two more replicas")
def replicas(facts: Experiment) -> None:
    """The third has its place, and the fourth would make the zone too full: the rule is hard."""
    v = facts.variant
    for number in (3, 4):
        facts.apply(facts.manifest(f"{v.app}-2", new_name=f"{v.app}-{number}"))
        facts.let_pass(15)
    places = [facts.pod(f"{v.app}-{number}").spec.node_name for number in (3, 4)]
    facts.expect(
        places[0] == v.free and not places[1],
        found=f"the third replica {places[0] or 'waits'}, the fourth {places[1] or 'waits'}",
        expected=f"the third on {v.free}, the fourth waiting",
        hint=f"zone {v.a} is full and has one: with maxSkew 1 zone {v.b} may have two, in the pool {v.pool} only",
    )


@checks.observed("spread", at_start=True)
def spread(facts: Facts) -> int:
    decision = facts.decision(f"{facts.variant.app}-2")
    return sum(any(s.plugin == "PodTopologySpread" for s in decision.statuses(node)) for node in decision.nodes)
