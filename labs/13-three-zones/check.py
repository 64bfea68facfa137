"""Three pods, three zones, and a rule that made it so: minDomains, or an anti-affinity."""

from kitlib.api.core import Pod, PodAffinityTerm
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()
ZONE = "topology.kubernetes.io/zone"
PLACES = (ZONE, "failure-domain.beta.kubernetes.io/zone", "kubernetes.io/hostname", "metadata.name")


def zones_of(facts: Facts) -> dict[str, str]:
    """Pod -> zone ("" = pending)."""
    zone = {node.metadata.name: node.metadata.labels.get(ZONE, "") for node in facts.nodes()}
    pods = facts.pods_of(facts.variant.app)
    return {pod.metadata.name: zone.get(pod.spec.node_name, "") for pod in pods}


@checks.check("zones")
def zones(facts: Facts) -> None:
    found = zones_of(facts)
    facts.expect(
        len(found) >= 3,
        found=f"{len(found)} pods of {facts.variant.app}",
        expected="three pods",
        hint=f"keep replicas at 3 and the label app={facts.variant.app}",
    )
    pending = [name for name, zone in found.items() if not zone]
    used = {zone for zone in found.values() if zone}
    if len(used) >= 3 and not pending and len(found) == 3:
        return
    if pending and len(used) == 2:
        raise Wrong(
            f"{len(pending)} pods pending, {sorted(used)} in use",
            "three zones in use",
            "good: a pending pod is what the autoscaler waits for; give it time, lab.cluster.advance(120)",
            credit=0.25,
        )
    if len(used) >= 3:
        raise Wrong(
            f"{len(found)} pods in {sorted(used)}, {len(pending)} pending",
            "three pods, each in a zone of its own",
            "old and new pods mixed? wait for the Deployment: lab.cluster.advance(120). A new pod that finds no zone "
            "free of old ones waits for ever: make the Deployment give up an old pod first (maxUnavailable)",
            credit=0.25,
        )
    pods = facts.pods_of(facts.variant.app)
    if pods and all(any(c.min_domains for c in pod.spec.topology_spread_constraints) for pod in pods):
        skew = max(c.max_skew for pod in pods for c in pod.spec.topology_spread_constraints if c.min_domains)
        raise Wrong(
            f"pods in {sorted(used)}, {len(pending)} pending, all of them with minDomains",
            "three zones in use",
            f"with maxSkew {skew}, a zone may have {skew} pods while the third zone has none: one pod a zone needs 1"
            if skew > 1
            else "while the update rolled, the old pods counted too, and now no pod moves: count the new "
            "ones only (matchLabelKeys: [pod-template-hash]), or begin without old pods",
            credit=0.25,
        )
    raise Wrong(
        f"pods in {sorted(used)}, {len(pending)} pending",
        "three zones in use",
        "two zones satisfy the constraint: what says that there must be three?",
    )


@checks.check("rule")
def rule(facts: Facts) -> None:
    pods = facts.pods_of(facts.variant.app)
    facts.expect(bool(pods), found="no pods", expected="three pods", hint="apply the Deployment again")
    for pod in pods:
        named = places_named(pod)
        facts.expect(
            not named,
            found=f"{pod.metadata.name} names a zone or a node ({named})",
            expected="a rule about zones in general",
            hint="a pod that names its zone is a thing to keep in step by hand: use minDomains or an anti-affinity",
        )
        if keeps_apart(pod):
            continue
        constraints = [c for c in pod.spec.topology_spread_constraints if c.topology_key == ZONE]
        wanted = [c for c in constraints if (c.min_domains or 1) >= 3]
        facts.expect(
            bool(wanted),
            found=f"{pod.metadata.name} without minDomains 3",
            expected="a constraint with minDomains 3, or an anti-affinity over zones",
            hint="minDomains belongs into the constraint, beside maxSkew; old pods keep their old spec",
        )
        facts.expect(
            wanted[0].max_skew == 1 and wanted[0].when_unsatisfiable == "DoNotSchedule",
            found=f"maxSkew {wanted[0].max_skew}, {wanted[0].when_unsatisfiable}",
            expected="maxSkew 1, DoNotSchedule",
            hint="minDomains needs DoNotSchedule, and a skew of 1 to mean one pod a zone",
        )
        facts.expect(
            LabelSelectorMatcher(wanted[0].label_selector).matches(pod.metadata.labels),
            found="a constraint that does not count its own pods",
            expected=f"a selector that counts the pods of {facts.variant.app}",
            hint="a rule that selects nobody is always satisfied",
        )


def keeps_apart(pod: Pod) -> bool:
    """Whether a required anti-affinity keeps two of these pods out of one zone."""
    affinity = pod.spec.affinity
    anti = affinity.pod_anti_affinity if affinity else None
    terms = anti.required if anti else []
    return any(
        term.topology_key == ZONE
        and own_namespace(term, pod)
        and LabelSelectorMatcher(term.label_selector).matches(pod.metadata.labels)
        for term in terms
    )


def own_namespace(term: PodAffinityTerm, pod: Pod) -> bool:
    """Whether a term looks at pods of the pod's namespace: it names it, selects all, or says nothing of namespaces."""
    if term.namespace_selector is None:
        return not term.namespaces or pod.metadata.namespace in term.namespaces
    every = not term.namespace_selector.match_labels and not term.namespace_selector.match_expressions
    return every or pod.metadata.namespace in term.namespaces


def places_named(pod: Pod) -> str:
    """The zone or node that a pod names itself; "" = none."""
    found = [f"{key}={value}" for key, value in pod.spec.node_selector.items() if key in PLACES]
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required if affinity else None
    preferred = [wish.preference for wish in affinity.preferred] if affinity else []
    for term in (*(required.node_selector_terms if required else []), *preferred):
        found += [one.key for one in (*term.match_expressions, *term.match_fields) if one.key in PLACES and one.values]
    return ", ".join(found)


@checks.again("zones", "the third zone is closed for a while")
def closed(facts: Experiment) -> None:
    """A pod whose zone takes none waits, since the rule is hard, and comes back to its zone."""
    v = facts.variant
    third = [node.metadata.name for node in facts.nodes() if node.metadata.labels.get(ZONE) == v.third]
    for name in third:
        facts.patch("Node", name, {"spec": {"unschedulable": True}})
    for pod in facts.pods_of(v.app):
        if pod.spec.node_name in third:
            facts.delete("Pod", pod.metadata.name)
    facts.let_pass(10)
    found = sorted(zones_of(facts).values())
    facts.expect(
        found.count("") == 1,
        found=f"pods in {found}",
        expected="one pod that waits for its zone",
        hint="a rule that gives way puts two copies into one zone",
    )
    for name in third:
        facts.patch("Node", name, {"spec": {"unschedulable": None}})
    facts.let_pass(60)
    used = sorted(zones_of(facts).values())
    facts.expect(
        len(set(used)) == len(used) == 3 and "" not in used,
        found=f"pods in {used}",
        expected="three pods in three zones again",
    )


@checks.observed("waits", at_start=True)
def waits(facts: Experiment) -> int:
    facts.patch("Deployment", facts.variant.app, {"spec": {"replicas": 6}})
    facts.let_pass(20)
    return sum(not zone for zone in zones_of(facts).values())
