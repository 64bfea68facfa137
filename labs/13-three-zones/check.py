"""Three pods, three zones, and a constraint that made it so."""

from kitlib.lab import Checks, Facts, Wrong

checks = Checks()
ZONE = "topology.kubernetes.io/zone"


def zones_of(facts: Facts) -> dict[str, str]:
    """Pod -> zone ("" = pending)."""
    zone = {node.metadata.name: node.metadata.labels.get(ZONE, "") for node in facts.nodes()}
    pods = facts.pods("default", {"app": "store"})
    return {pod.metadata.name: zone.get(pod.spec.node_name, "") for pod in pods}


@checks.check("zones")
def zones(facts: Facts) -> None:
    found = zones_of(facts)
    facts.expect(
        len(found) >= 3,
        found=f"{len(found)} pods of store",
        expected="three pods",
        hint="keep replicas at 3 or more and the label app=store",
    )
    pending = [name for name, zone in found.items() if not zone]
    used = {zone for zone in found.values() if zone}
    if len(used) >= 3 and not pending:
        return
    if pending and len(used) == 2:
        raise Wrong(
            f"{len(pending)} pods pending, {sorted(used)} in use",
            "three zones in use",
            "good: a pending pod is what the autoscaler waits for; give it time, lab.cluster.advance(120)",
            credit=0.5,
        )
    raise Wrong(
        f"pods in {sorted(used)}, {len(pending)} pending",
        "three zones in use",
        "two zones satisfy the constraint: what says that there must be three?",
        credit=0.0,
    )


@checks.check("rule")
def rule(facts: Facts) -> None:
    pods = facts.pods("default", {"app": "store"})
    facts.expect(bool(pods), found="no pods of store", expected="three pods", hint="apply the Deployment again")
    for pod in pods:
        spec = pod.spec
        facts.expect(
            ZONE not in spec.node_selector and spec.affinity is None,
            found=f"{pod.metadata.name} names a zone or a node",
            expected="spreading by the constraint alone",
            hint="three Deployments with a zone each are three things to keep in step: use minDomains",
        )
        wanted = [c for c in spec.topology_spread_constraints if c.topology_key == ZONE and (c.min_domains or 1) >= 3]
        facts.expect(
            bool(wanted),
            found=f"{pod.metadata.name} without minDomains 3",
            expected="a constraint with minDomains 3",
            hint="minDomains belongs into the constraint, beside maxSkew; old pods keep their old spec",
            credit=0.25,
        )
        facts.expect(
            wanted[0].max_skew == 1 and wanted[0].when_unsatisfiable == "DoNotSchedule",
            found=f"maxSkew {wanted[0].max_skew}, {wanted[0].when_unsatisfiable}",
            expected="maxSkew 1, DoNotSchedule",
            hint="minDomains needs DoNotSchedule, and a skew of 1 to mean one pod a zone",
            credit=0.5,
        )


@checks.observed("third", at_start=True)
def third(facts: Facts) -> str:
    used = set(zones_of(facts).values())
    if "" in used:
        return "it stays pending"
    return "zone3" if "zone3" in used else "zone1 or zone2"
