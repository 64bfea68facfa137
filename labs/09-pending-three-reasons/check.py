"""The pod runs where it should, because what kept it away was changed, and nobody else had to go."""

from kitlib.api.core import Pod, Toleration
from kitlib.lab import Checks, Facts, Wrong

checks = Checks()


@checks.check("reasons")
def reasons(facts: Facts) -> None:
    pod = facts.pod("report")
    if pod.spec.node_name == "fast-1":
        facts.expect(
            pod.status.phase == "Running",
            found=f"report on fast-1, phase {pod.status.phase or 'unknown'}",
            expected="a running pod",
            hint="a pod that names its node skips the scheduler, not the kubelet, which refuses what does not fit",
        )
        scheduled = facts.events("Scheduled", "report")
        facts.expect(
            bool(scheduled),
            found="report was put on fast-1 by hand (spec.nodeName)",
            expected="a pod that the scheduler placed",
            hint="nodeName hides the reasons instead of removing them: leave it out",
            credit=1 / 3,
        )
        return
    done = 0
    problems = []
    selector = pod.spec.node_selector.get("disk")
    if selector == "ssd":
        done += 1
    else:
        problems.append(f"the selector asks for disk={selector}, which no suitable node has")
    if any(t.key in ("team", "") and t.effect in ("NoSchedule", "") for t in pod.spec.tolerations):
        done += 1
    else:
        problems.append("it does not tolerate team=data:NoSchedule")
    requested = sum(c.resources.requests["cpu"].milli_value() for c in pod.spec.containers if c.resources.requests)
    if requested <= 3900:
        done += 1
    else:
        problems.append(f"it requests {requested}m of CPU, more than fast-1 has left")
    where = f"on {pod.spec.node_name}" if pod.spec.node_name else "pending"
    raise Wrong(
        f"report is {where}; {'; '.join(problems) or 'what it asks for would fit'}",
        "report on fast-1",
        problems[0] if problems else "let the scheduler run: lab.cluster.advance(10)",
        credit=min(done, 2) / 3,
    )


@checks.check("neighbours")
def neighbours(facts: Facts) -> None:
    for name in ("warehouse", "index"):
        pod = facts.find("Pod", name)
        facts.expect(
            isinstance(pod, Pod) and pod.status.phase == "Running",
            found=f"{name} is {pod.status.phase if isinstance(pod, Pod) else 'gone'}",
            expected="warehouse and index running",
            hint="they belong to other teams: lab.reset() brings them back",
        )


@checks.observed("nodes", at_start=True)
def nodes(facts: Facts) -> int:
    """Asked of the scheduler, with the other two reasons out of the way."""
    pod = facts.pod("report")
    pod.spec.node_selector = {}
    pod.spec.tolerations = [Toleration(operator="Exists")]
    return len(facts.decision_for(pod).feasible)
