"""The pod runs where the harder of the two rules wants it."""

from kitlib.lab import Checks, Facts

checks = Checks()
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@checks.check("placed")
def placed(facts: Facts) -> None:
    pod = facts.pod("app-4")
    events = facts.events("FailedScheduling", "app-4")
    facts.expect(
        bool(pod.spec.node_name),
        found=f"app-4 is pending: {events[-1].message if events else 'no event yet'}",
        expected="app-4 running in zone b",
        hint="each rule leaves nodes over, but not the same ones: which of the two is worth more to you?",
    )
    facts.expect(
        pod.spec.node_name == "b-1",
        found=f"app-4 on {pod.spec.node_name}, so zone a has three of four pods",
        expected="app-4 in zone b",
        hint="losing a zone is worse than losing a host: relax the rule about hosts, not the one about zones",
        credit=0.5,
    )
    facts.expect(
        bool(facts.events("Scheduled", "app-4")),
        found="app-4 names its node itself",
        expected="a pod that the scheduler placed",
        hint="nodeName works once; the next replica is stuck again",
    )


@checks.check("rules")
def rules(facts: Facts) -> None:
    found = {c.topology_key: c for c in facts.pod("app-4").spec.topology_spread_constraints}
    zone = found.get(ZONE)
    facts.expect(
        zone is not None and zone.when_unsatisfiable == "DoNotSchedule" and zone.max_skew == 1,
        found=f"the zone rule: {zone.when_unsatisfiable + f', maxSkew {zone.max_skew}' if zone else 'gone'}",
        expected="DoNotSchedule with maxSkew 1 over zones",
        hint="the zone rule is the one to keep hard",
    )
    facts.expect(
        HOST in found,
        found="no rule about hosts",
        expected="a rule about hosts, even if it is a wish",
        hint="as ScheduleAnyway it still steers pods to empty hosts through the score",
        credit=0.5,
    )


@checks.observed("zone", at_start=True)
def zone(facts: Facts) -> str:
    """What the zone rule alone allows, asked of the scheduler."""
    pod = facts.pod("app-4")
    pod.spec.topology_spread_constraints = [c for c in pod.spec.topology_spread_constraints if c.topology_key == ZONE]
    zones = {node.split("-")[0] for node in facts.decision_for(pod).feasible}
    return "either" if len(zones) == 2 else next(iter(zones), "none")
