"""All replicas run, evenly, outside the broken zone."""

from collections import Counter

from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.lab import Checks, Experiment, Facts, Wrong
from kitlib.lab.history import Moment

checks = Checks()
ZONE = "topology.kubernetes.io/zone"


def zones(facts: Facts) -> Counter[str]:
    """Zone -> pods of the app that stand there; "" = pending."""
    pods = facts.pods_of(facts.variant.app)
    facts.expect(
        len(pods) >= 4,
        found=f"{len(pods)} pods of {facts.variant.app}",
        expected="four",
        hint=f"fewer replicas need fewer places, but {facts.variant.app} needs four",
    )
    zone = {node.metadata.name: node.metadata.labels.get(ZONE, "") for node in facts.nodes()}
    return Counter(zone.get(pod.spec.node_name, "") for pod in pods)


@checks.check("all")
def all_of_them(facts: Facts) -> None:
    v, found = facts.variant, zones(facts)
    facts.expect(
        found[v.bad] == 0,
        found=f"{found[v.bad]} pods in zone {v.bad}",
        expected="none there",
        hint="a toleration sends pods into the broken zone",
    )
    if found[""]:
        raise Wrong(
            f"{found['']} of {sum(found.values())} pods pending",
            "all running",
            f"zone {v.bad} counts with 0 pods although no pod may go there: which policy says that taints count? A "
            "rolling update needs some time: lab.cluster.advance(60)",
        )
    facts.expect(
        sum(found.values()) == 4,
        found=f"{sum(found.values())} pods of {v.app}",
        expected="four",
        hint="pods of the old and the new spec mixed? wait for the Deployment: lab.cluster.advance(60)",
    )
    for pod in facts.pods_of(v.app):
        facts.needs_the_scheduler(pod)


@checks.check("even")
def even(facts: Facts) -> None:
    v, found = facts.variant, zones(facts)
    for pod in facts.pods_of(v.app):
        hard = [
            c
            for c in pod.spec.topology_spread_constraints
            if c.topology_key == ZONE
            and c.when_unsatisfiable == "DoNotSchedule"
            and c.max_skew == 1
            and LabelSelectorMatcher(c.label_selector).matches(pod.metadata.labels)
        ]
        facts.expect(
            bool(hard),
            found=f"{pod.metadata.name} has no hard rule with maxSkew 1 over zones that counts its own kind",
            expected="the rule that there was, in every pod",
            hint="without it all pods may stand in one zone: keep the rule and say which nodes it counts",
        )
    facts.expect(
        found[v.one] == found[v.two] == 2 and found[""] == 0,
        found=f"{v.one} {found[v.one]}, {v.two} {found[v.two]}, pending {found['']}",
        expected=f"two in {v.one} and two in {v.two}",
        hint="a toleration sends pods into the broken zone"
        if found[v.bad]
        else "pods of the old and the new spec mixed? wait for the Deployment: lab.cluster.advance(60)",
    )


@checks.never("zone")
def zone_is_empty(moment: Moment) -> str:
    """The broken zone is the one whose node was tainted at the start."""
    changed = moment.change.object
    if changed.kind != "Pod" or moment.change.type == "DELETED" or not changed.spec.node_name:
        return ""
    node = moment.first.get(("Node", "", changed.spec.node_name))
    broken = node is not None and any(t.effect == "NoSchedule" for t in node.spec.taints)
    return f"{changed.metadata.name} was placed on {changed.spec.node_name}" if broken else ""


@checks.again("even", "two more replicas")
def grows(facts: Experiment) -> None:
    """Six replicas are three in each of the two zones."""
    v = facts.variant
    facts.patch("Deployment", v.app, {"spec": {"replicas": 6}})
    facts.let_pass(30)
    found = zones(facts)
    facts.expect(
        found[v.one] == found[v.two] == 3 and sum(found.values()) == 6,
        found=f"{v.one} {found[v.one]}, {v.two} {found[v.two]}, pending {found['']}",
        expected="three in each",
        hint="the rule of the pods must hold for the next ones, too",
    )
    for node in (f"{v.one}-1", f"{v.two}-1", f"{v.bad}-1"):
        facts.add_node_like(node, node.replace("-1", "-2"))
    facts.patch("Node", f"{v.one}-1", {"spec": {"unschedulable": True}})
    facts.patch("Deployment", v.app, {"spec": {"replicas": 8}})
    facts.let_pass(30)
    found = zones(facts)
    facts.expect(
        found[""] == found[v.bad] == 0,
        found=f"with a second node in each zone, pending {found['']}, {v.bad} {found[v.bad]}",
        expected=f"eight running in {v.one} and {v.two}",
        hint="nodes come and go: do not name them in the pods, say which zones or nodes count",
    )


@checks.observed("spread", at_start=True)
def spread(facts: Facts) -> int:
    waiting = [p for p in facts.pods_of(facts.variant.app) if not p.spec.node_name]
    decision = facts.decision(waiting[0].metadata.name)
    return sum(any(s.plugin == "PodTopologySpread" for s in decision.statuses(node)) for node in decision.nodes)
