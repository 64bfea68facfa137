"""The node is drained through the eviction API, and both budgets still do what budgets are for."""

from kitlib.api.apps import Deployment
from kitlib.api.core import Node, Pod
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.lab import Checks, Experiment, Facts, Wrong
from kitlib.lab.history import Moment

checks = Checks()
EVICTED = "EvictionByEvictionAPI"
"""The reason in the condition DisruptionTarget of a pod that was evicted."""


def is_ready(pod) -> bool:
    return pod.metadata.deletion_timestamp is None and any(
        c.type == "Ready" and c.status == "True" for c in pod.status.conditions
    )


def drained(facts: Facts, app: str, why: str) -> None:
    """No pod of an application is on the node, and no new one can come."""
    v = facts.variant
    left = [pod.metadata.name for pod in facts.pods("default", {"app": app}) if pod.spec.node_name == v.node]
    node = facts.node(v.node)
    if left and node.spec.unschedulable:
        raise Wrong(f"{', '.join(left)} on {v.node}", f"no pod of {app} there", why)
    facts.expect(
        not left,
        found=f"{', '.join(left)} on {v.node}, which is not cordoned",
        expected=f"no pod of {app} there",
        hint=f'drain it: drain(lab.cluster, "{v.node}", at_most=60)',
    )
    facts.expect(
        bool(node.spec.unschedulable),
        found=f"{v.node} is not cordoned",
        expected=f"{v.node} cordoned",
        hint="it is upgraded next: uncordon it afterwards",
    )


@checks.check("web")
def web(facts: Facts) -> None:
    v = facts.variant
    budget = find_budget(facts, v.web)
    needs, has = budget.status.desired_healthy, budget.status.current_healthy
    drained(
        facts,
        v.web,
        f"the budget needs {needs} healthy pods and {has} are there: allow one to be missing, then drain again"
        if needs >= has
        else f'the budget allows it now: drain(lab.cluster, "{v.node}", at_most=60)',
    )
    ready = [pod for pod in facts.pods_of(v.web) if is_ready(pod)]
    facts.expect(
        len(ready) >= v.replicas,
        found=f"{len(ready)} pods of {v.web} are ready",
        expected=f"{v.replicas}",
        hint=f"{v.web} keeps its replicas; a new one warms up for some seconds: lab.cluster.advance(20)",
    )
    for pod in ready:
        facts.needs_the_scheduler(pod)


@checks.check("worker")
def worker(facts: Facts) -> None:
    v = facts.variant
    policy = find_budget(facts, v.worker).spec.unhealthy_pod_eviction_policy
    drained(
        facts,
        v.worker,
        "the pod is broken: no number in the budget makes it healthy. Which policy lets broken pods go?"
        if policy != "AlwaysAllow"
        else f'the budget lets it go now: drain(lab.cluster, "{v.node}", at_most=60)',
    )
    facts.expect(
        bool(facts.pods_of(v.worker)),
        found=f"there is no pod of {v.worker}",
        expected=f"{v.worker} on another node, broken as it is",
        hint=f"{v.worker} keeps its one replica",
    )


@checks.check("budgets")
def budgets(facts: Facts) -> None:
    v = facts.variant
    of_web = find_budget(facts, v.web)
    keeps = of_web.status.desired_healthy
    facts.expect(
        keeps >= v.replicas - 1,
        found=f"the budget of {v.web} keeps {keeps} of {of_web.status.expected_pods}",
        expected=f"at least {v.replicas - 1}",
        hint="a budget that keeps fewer protects less than the team asked for: one may be missing, not more",
    )
    facts.expect(
        of_web.status.disruptions_allowed > 0,
        found=f"the budget of {v.web} allows no disruption",
        expected="one at a time",
        hint="the next drain would hang again: are all replicas ready?",
    )
    facts.expect(
        keeps_a_pod(find_budget(facts, v.worker)),
        found=f"the budget of {v.worker} keeps no pod",
        expected="a healthy one kept",
        hint=f"when {v.worker} is fixed, its only pod must not be evicted without asking: keep minAvailable: 1",
    )


def keeps_a_pod(budget: PodDisruptionBudget) -> bool:
    """Whether a budget keeps the only pod of its application, once that is healthy."""
    spec = budget.spec
    return str(spec.min_available) not in ("None", "0", "0%") or str(spec.max_unavailable) in ("0", "0%")


def find_budget(facts: Facts, name: str) -> PodDisruptionBudget:
    """The budget of an application, which selects its pods."""
    budget = facts.find("PodDisruptionBudget", name)
    if not isinstance(budget, PodDisruptionBudget):
        raise Wrong(f"no budget {name}", "the budget to be there", "change it, do not take it away")
    selector = LabelSelectorMatcher(budget.spec.selector)
    labels = [pod.metadata.labels for pod in facts.pods("default", {"app": name})]
    facts.expect(
        all(selector.matches(one) for one in labels or [{"app": name}]),
        found=f"the budget {name} selects other pods",
        expected=f"app: {name}",
        hint="a budget that selects none of the pods protects nobody",
    )
    return budget


@checks.never("enough")
def enough(moment: Moment) -> str:
    """More than one replica is missing, of those that were there at the start."""
    owners = [one for key, one in moment.first.items() if key[0] == "Deployment" and one.spec.replicas > 1]
    for owner in owners:
        name = owner.metadata.name
        ready = sum(is_ready(pod) for pod in moment.pods(app=name))
        if ready < owner.spec.replicas - 1:
            return f"{ready} of {owner.spec.replicas} pods of {name} were ready"
    return ""


@checks.never("protected")
def protected(moment: Moment) -> str:
    """A pod is evicted while a budget keeps fewer pods than all but one: of those at the start, or of more replicas.

    A budget that is weakened, or replicas that are removed, for the drain alone count although the end is as asked.
    """
    pod = moment.change.object if moment.change else None
    if not isinstance(pod, Pod) or not any(c.reason == EVICTED for c in pod.status.conditions):
        return ""
    owners = [one for one in moment.first.values() if isinstance(one, Deployment)]
    for name, asked in ((owner.metadata.name, owner.spec.replicas) for owner in owners):
        budget = moment.get("PodDisruptionBudget", name)
        if not isinstance(budget, PodDisruptionBudget):
            continue  # a deletion breaks another rule
        keeps, now = budget.status.desired_healthy, moment.get("Deployment", name)
        # The budget learns of new replicas later; for a number of pods it counts those that terminate, too.
        there = max(asked, min(now.spec.replicas, budget.status.expected_pods)) if now else asked
        if asked > 1 and keeps < there - 1:
            return f"{pod.metadata.name} was evicted while the budget of {name} kept {keeps} of {there} pods"
        if asked == 1 and not keeps_a_pod(budget):
            return f"{pod.metadata.name} was evicted while the budget of {name} kept no pod"
    return ""


@checks.never("cordoned")
def cordoned(moment: Moment) -> str:
    """A node is uncordoned after its last pod of the Deployments is gone."""
    before, node = moment.before, moment.change.object if moment.change else None
    if not isinstance(before, Node) or not isinstance(node, Node) or not before.spec.unschedulable:
        return ""
    apps = {owner.metadata.name for owner in moment.first.values() if isinstance(owner, Deployment)}
    stays = [pod for pod in moment.pods() if pod.metadata.deletion_timestamp is None]
    there = [pod for pod in stays if pod.spec.node_name == node.metadata.name]
    if node.spec.unschedulable or any(pod.metadata.labels.get("app") in apps for pod in there):
        return ""
    return f"{node.metadata.name} was uncordoned after its drain"


@checks.never("taints")
def taints(moment: Moment) -> str:
    """A taint that is not the cluster's own."""
    for key, node in moment.objects.items():
        if key[0] == "Node":
            for taint in node.spec.taints:
                if not taint.key.startswith("node.kubernetes.io/"):
                    return f"{node.metadata.name} was tainted {taint.key}:{taint.effect}"
    return ""


@checks.again("budgets", "the next drain")
def next_drain(facts: Experiment) -> None:
    """The node of the worker follows: everything on it leaves by eviction, and enough stays."""
    v = facts.variant
    (node,) = {pod.spec.node_name for pod in facts.pods("default", {"app": v.worker})}
    facts.drain(node, 120)
    facts.let_pass(20)
    left = [pod for pod in facts.pods("default") if pod.spec.node_name == node]
    facts.expect(
        not left,
        found=f"{', '.join(pod.metadata.name for pod in left)} on {node} after two minutes",
        expected="nothing left there",
        hint="the budgets are asked again as they are now: do they let a broken pod go, and one of the healthy ones?",
    )
    ready = sum(is_ready(pod) for pod in facts.pods("default", {"app": v.web}))
    facts.expect(ready >= v.replicas, found=f"{ready} pods of {v.web} are ready", expected=f"{v.replicas}")


@checks.observed("healthy", at_start=True)
def healthy(facts: Facts) -> int:
    return find_budget(facts, facts.variant.worker).status.current_healthy
