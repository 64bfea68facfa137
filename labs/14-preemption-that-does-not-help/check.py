"""urgent runs because the scheduler preempted, and preempted no more than it had to."""

from kitlib.lab import Checks, Facts, Wrong

checks = Checks()


@checks.check("runs")
def runs(facts: Facts) -> None:
    pod = facts.pod("urgent")
    requested = sum(c.resources.requests["cpu"].milli_value() for c in pod.spec.containers)
    facts.expect(
        requested >= 2000,
        found=f"urgent requests {requested}m of CPU",
        expected="the 2 CPUs that it needs",
        hint="a smaller request fits, and then the pod is too slow: it needs 2 CPUs",
    )
    if pod.spec.node_name == "node-1":
        facts.expect(
            bool(facts.events("Scheduled", "urgent")),
            found="urgent names its node itself",
            expected="a pod that the scheduler placed",
            hint="nodeName skips the scheduler, and the kubelet refuses what does not fit",
        )
        return
    if pod.spec.node_name:
        raise Wrong(
            f"urgent on {pod.spec.node_name}",
            "urgent on node-1",
            "node-2 is for GPU work: do not tolerate its taint",
            credit=0.25,
        )
    if pod.spec.preemption_policy == "Never":
        raise Wrong(
            "urgent is pending, preemptionPolicy Never",
            "urgent on node-1",
            "its class never preempts: choose one that does, or make one",
        )
    raise Wrong(
        f"urgent is pending with priority {pod.spec.priority}",
        "urgent on node-1",
        "only pods of lower priority can be removed: compare the classes; then let the scheduler run, advance(60)",
        credit=0.25,
    )


@checks.check("victims")
def victims(facts: Facts) -> None:
    names = {pod.metadata.name for pod in facts.pods("default")}
    facts.expect(
        "db" in names,
        found="the database is gone",
        expected="db running",
        hint="a priority above batch (100) and below database (10000) would have spared it, or a budget",
    )
    left = sum(name.startswith("batch-") for name in names)
    facts.expect(
        left < 3,
        found="all three batch pods are there",
        expected="two of them preempted",
        hint="nobody was removed yet: see the first task",
    )
    preempted = facts.events("Preempted")
    facts.expect(
        left == 1 and len(preempted) == 2,
        found=f"{3 - left} batch pods gone, {len(preempted)} by preemption",
        expected="two, both preempted",
        hint="leave the removing to the scheduler: it takes as few and as unimportant pods as it can",
        credit=0.25,
    )


@checks.observed("policy", at_start=True)
def policy(facts: Facts) -> int:
    return len(facts.events("Preempted"))
