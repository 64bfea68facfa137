"""All replicas run, evenly, outside the broken zone."""

from collections import Counter

from kitlib.lab import Checks, Facts, Wrong

checks = Checks()
ZONE = "topology.kubernetes.io/zone"


def zones(facts: Facts) -> Counter[str]:
    """Zone -> pods of shop that run there; "" = pending."""
    pods = facts.pods("default", {"app": "shop"})
    facts.expect(
        len(pods) >= 4,
        found=f"{len(pods)} pods of shop",
        expected="four",
        hint="fewer replicas need fewer places, but the shop needs four",
    )
    zone = {node.metadata.name: node.metadata.labels.get(ZONE, "") for node in facts.nodes()}
    return Counter(zone.get(pod.spec.node_name, "") for pod in pods)


@checks.check("all")
def all_of_them(facts: Facts) -> None:
    found = zones(facts)
    taints = [t for node in facts.nodes() if node.metadata.name == "c-1" for t in node.spec.taints]
    facts.expect(
        bool(taints),
        found="the taint on c-1 is gone",
        expected="zone c left alone: its storage is broken",
        hint="the zone is broken, taint or no taint: change the pods instead",
    )
    facts.expect(
        found["c"] == 0,
        found=f"{found['c']} pods in zone c",
        expected="none there",
        hint="a toleration sends pods into the broken zone",
    )
    if found[""]:
        raise Wrong(
            f"{found['']} of {sum(found.values())} pods pending",
            "all running",
            "zone c counts with 0 pods although no pod may go there: which policy says that taints count?",
            credit=(sum(found.values()) - found[""]) / sum(found.values()) / 2,
        )


@checks.check("even")
def even(facts: Facts) -> None:
    found = zones(facts)
    pods = facts.pods("default", {"app": "shop"})
    hard = [
        c
        for c in pods[0].spec.topology_spread_constraints
        if c.topology_key == ZONE and c.when_unsatisfiable == "DoNotSchedule" and c.max_skew == 1
    ]
    facts.expect(
        bool(hard),
        found="no hard rule with maxSkew 1 over zones",
        expected="the rule that there was",
        hint="without it all pods may stand in one zone: keep the rule and say which nodes it counts",
    )
    facts.expect(
        abs(found["a"] - found["b"]) <= 1 and found[""] == 0,
        found=f"a {found['a']}, b {found['b']}, pending {found['']}",
        expected="the same number in a and b",
        hint="pods of the old and the new spec mixed? wait for the Deployment: lab.cluster.advance(60)",
    )


@checks.observed("running", at_start=True)
def running(facts: Facts) -> int:
    found = zones(facts)
    return sum(found.values()) - found[""]
