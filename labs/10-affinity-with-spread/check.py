"""The pod is placed in its pool, and it still spreads with its own kind."""

from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.lab import Checks, Facts

checks = Checks()
ZONE = "topology.kubernetes.io/zone"


@checks.check("placed")
def placed(facts: Facts) -> None:
    pod = facts.pod("web-2")
    events = facts.events("FailedScheduling", "web-2")
    facts.expect(
        bool(pod.spec.node_name),
        found=f"web-2 is pending: {events[-1].message if events else 'no event yet'}",
        expected="web-2 on b-1",
        hint="zone b is full of pods that the constraint counts: whose are they, and where do they stand?",
    )
    facts.expect(
        pod.spec.node_name == "b-1",
        found=f"web-2 on {pod.spec.node_name}",
        expected="web-2 on b-1, in the pool web",
        hint="b-2 belongs to batch, and a-1 is full: keep the affinity",
        credit=0.25,
    )
    facts.expect(
        bool(facts.events("Scheduled", "web-2")),
        found="web-2 names its node itself",
        expected="a pod that the scheduler placed",
        hint="nodeName skips the scheduler, and with it the spreading",
    )


@checks.check("constraint")
def constraint(facts: Facts) -> None:
    pod = facts.pod("web-2")
    zones = [c for c in pod.spec.topology_spread_constraints if c.topology_key == ZONE]
    facts.expect(
        bool(zones),
        found="no constraint on zones",
        expected="maxSkew 1, DoNotSchedule, over zones",
        hint="without the constraint the pod is placed, and all pods may end up in one zone",
    )
    first = zones[0]
    facts.expect(
        first.max_skew == 1,
        found=f"maxSkew {first.max_skew}",
        expected="maxSkew 1",
        hint="a bigger skew hides the problem until the next pod comes",
        credit=0.5,
    )
    facts.expect(
        first.when_unsatisfiable == "DoNotSchedule",
        found=first.when_unsatisfiable,
        expected="DoNotSchedule",
        hint="ScheduleAnyway is a wish, not a rule: a full zone b would put all new pods into a",
        credit=0.5,
    )
    matcher = LabelSelectorMatcher(first.label_selector)
    missed = [name for name in ("web-1", "web-2") if not matcher.matches(facts.pod(name).metadata.labels)]
    facts.expect(
        not missed,
        found=f"a selector that does not match {' and '.join(missed)}",
        expected="a selector that counts web-1 and web-2",
        hint="a constraint that does not count its own kind is always satisfied",
    )


@checks.observed("release", at_start=True)
def release(facts: Facts) -> str:
    for name in ("1.23", "1.24", "1.26"):
        if facts.decision("web-2", release=name).feasible:
            return name
    return "none"
