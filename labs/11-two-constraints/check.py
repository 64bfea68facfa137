"""The pod runs where the harder of the two rules wants it, and both rules still count its kind."""

from collections import Counter

from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.lab import Checks, Experiment, Facts

checks = Checks()
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
LARGEST_SKEW = 2
"""A skew over hosts that is still a rule: with three hosts in a zone, 3 would allow all pods on one."""


@checks.check("placed")
def placed(facts: Facts) -> None:
    v = facts.variant
    pod = facts.pod(f"{v.app}-4")
    events = facts.events("FailedScheduling", pod.metadata.name)
    facts.expect(
        bool(pod.spec.node_name),
        found=f"{pod.metadata.name} is pending: {events[-1].message if events else 'no event yet'}",
        expected=f"{pod.metadata.name} running in the zone that has fewer pods",
        hint="each rule leaves nodes over, but not the same ones: which of the two is worth more to you?",
    )
    facts.expect(
        pod.spec.node_name == f"{v.b}-1",
        found=f"{pod.metadata.name} on {pod.spec.node_name}, so zone {v.a} has three of four pods",
        expected=f"{pod.metadata.name} in zone {v.b}",
        hint="losing a zone is worse than losing a host: relax the rule about hosts, not the one about zones",
    )
    facts.needs_the_scheduler(pod)


def counts_all(facts: Facts, constraint) -> bool:
    """Whether a constraint counts all four replicas."""
    matcher = LabelSelectorMatcher(constraint.label_selector)
    return all(matcher.matches(facts.pod(f"{facts.variant.app}-{n}").metadata.labels) for n in range(1, 5))


@checks.check("rules")
def rules(facts: Facts) -> None:
    constraints = facts.pod(f"{facts.variant.app}-4").spec.topology_spread_constraints
    zones = [c for c in constraints if c.topology_key == ZONE]
    facts.expect(
        any(c.when_unsatisfiable == "DoNotSchedule" and c.max_skew == 1 for c in zones),
        found=f"the zone rule: {f'{zones[0].when_unsatisfiable}, maxSkew {zones[0].max_skew}' if zones else 'gone'}",
        expected="DoNotSchedule with maxSkew 1 over zones",
        hint="the zone rule is the one to keep hard",
    )
    hosts = [c for c in constraints if c.topology_key == HOST]
    facts.expect(
        bool(hosts),
        found="no rule about hosts",
        expected="a rule about hosts, even if it is a wish",
        hint="as ScheduleAnyway it still steers pods to empty hosts through the score",
    )
    for constraint in (*zones, *hosts):
        facts.expect(
            counts_all(facts, constraint),
            found=f"the rule over {constraint.topology_key} does not count the pods of {facts.variant.app}",
            expected="both rules count all four replicas",
            hint="a rule that selects nobody is always satisfied: it is as good as dropped",
        )
    facts.expect(
        any(c.when_unsatisfiable == "ScheduleAnyway" or c.max_skew <= LARGEST_SKEW for c in hosts),
        found=f"a host rule with maxSkew {hosts[0].max_skew}",
        expected=f"a wish, or a hard rule with a skew of at most {LARGEST_SKEW}",
        hint="with such a skew all pods may stand on one host: it is as good as dropped",
    )


@checks.again("rules", "two more replicas")
def two_more(facts: Experiment) -> None:
    """Two more pods of the same manifest find places; each zone has three of the six, and each node has one."""
    v = facts.variant
    for name in (f"{v.app}-5", f"{v.app}-6"):
        facts.apply(facts.manifest(f"{v.app}-4", new_name=name))
        facts.let_pass(15)
        facts.runs(name, "each rule must leave a node to every replica: do not leave out nodes that are empty today")
    where = Counter((facts.pod(f"{v.app}-{n}").spec.node_name or "").partition("-")[0] for n in range(1, 7))
    facts.expect(
        where == {v.a: 3, v.b: 3},
        found=f"pods by zone: {dict(where)}",
        expected="three in each zone",
        hint="a zone or host that the manifest names holds for one replica: let the rules choose for each of them",
    )
    used = {facts.pod(f"{v.app}-{n}").spec.node_name for n in range(1, 7)}
    empty = sorted(node.metadata.name for node in facts.nodes() if node.metadata.name not in used)
    facts.expect(
        not empty,
        found=f"no replica on {', '.join(empty)}",
        expected="at least one on every node",
        hint="the rule over hosts has no effect: an affinity that is stronger, or names hosts, puts pods together",
    )
    facts.expect(
        facts.pod(f"{v.app}-4").spec.node_name == f"{v.b}-1",
        found=f"{v.app}-4 moved",
        expected=f"{v.app}-4 in zone {v.b}",
    )


@checks.observed("zone", at_start=True)
def zone(facts: Facts) -> str:
    """What the zone rule alone allows, asked of the scheduler."""
    pod = facts.pod(f"{facts.variant.app}-4")
    pod.spec.topology_spread_constraints = [c for c in pod.spec.topology_spread_constraints if c.topology_key == ZONE]
    zones = {node.split("-")[0] for node in facts.decision_for(pod).feasible}
    return "either" if len(zones) == 2 else next(iter(zones), "none")
