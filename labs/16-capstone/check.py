"""Each incident is judged by what the cluster does now; the rules guard what the five have in common."""

from collections import Counter

from kitlib.api.podresources import containers_of, pod_requests
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.lab import Checks, Experiment, Facts
from kitlib.lab.history import Moment

checks = Checks()
DOMAINS = ("topology.kubernetes.io/zone", "kubernetes.io/hostname")  # each zone has one edge node
SECONDS, BOUND, SYSTEM = 120, 256 * 2**20, 2_000_000_000


def waits(facts: Facts, pod) -> str:
    """Why a pod is pending, in the scheduler's words."""
    events = facts.events("FailedScheduling", pod.metadata.name)
    return f"{pod.metadata.name} is pending: {events[-1].message if events else 'no event yet'}"


@checks.check("report")
def report(facts: Facts) -> None:
    pod = facts.pod(facts.variant.report)
    facts.expect(
        bool(pod.spec.node_name),
        found=waits(facts, pod),
        expected=f"{pod.metadata.name} on data-1",
        hint="every clause of the message is a reason: taint, selector, CPU. Which one is left?",
    )
    facts.expect(
        pod.spec.node_name == "data-1",
        found=f"{pod.metadata.name} on {pod.spec.node_name}",
        expected="data-1, beside its data",
        hint="say which node is good for it: the one with the fast disk",
    )
    cpu = pod_requests(pod).get("cpu")
    facts.expect(
        cpu is not None and cpu.milli_value() >= 1000,
        found=f"{pod.metadata.name} requests {cpu or 'no'} CPU",
        expected="a request of at least 1 CPU",
        hint="a pod without a request fits everywhere, and gets what the others leave: ask for what it needs",
    )
    facts.needs_the_scheduler(pod)


@checks.check("orders")
def orders(facts: Facts) -> None:
    v = facts.variant
    pod = facts.pod(v.orders)
    statuses = {s.name: s for s in [*pod.status.init_container_statuses, *pod.status.container_statuses]}
    for name in ("server", v.side):
        status = statuses.get(name)
        running = status.state.get("running") if status else None
        ended = (status.last_state.get("terminated") or {}).get("reason", "") if status else ""
        facts.expect(
            bool(running) and facts.seconds_since(running.get("startedAt")) >= SECONDS,
            found=f"{name} has not run for two minutes{f', it was {ended}' if ended else ''}",
            expected=f"server and {v.side} running for two minutes",
            hint=f"{name} reaches its own limit: how much does it need?"
            if ended == "OOMKilled"
            else "let time pass: lab.cluster.advance(120)",
        )
    side = next(c for c in containers_of(pod) if c.name == v.side)
    limits = [side.resources.limits.get("memory"), pod.spec.resources and pod.spec.resources.limits.get("memory")]
    bounds = [limit.value() for limit in limits if limit]
    facts.expect(
        bool(bounds) and min(bounds) <= BOUND,
        found=f"{v.side} may use {min(bounds) if bounds else 'all of the node'}",
        expected="a limit of at most 256Mi",
        hint="be generous, not boundless",
    )


@checks.check("checkout", trial=True)
def checkout(facts: Experiment) -> None:
    v = facts.variant
    pod = facts.pod(v.checkout)
    before = facts.cpu_stat(pod)
    facts.let_pass(5)
    after = facts.cpu_stat(pod)
    throttled, used = (after[key] - before[key] for key in ("nr_throttled", "usage_usec"))
    facts.expect(
        not throttled,
        found=f"throttled in {throttled} periods of 5 s",
        expected="no throttling while CPUs are idle",
        hint="the quota comes from the CPU limit, and the work can use a whole CPU",
    )
    facts.expect(
        used > 5e6 * 1.5 * v.cpu / 1000,
        found=f"{v.checkout} uses {used / 5000:.0f}m",
        expected="the work that it did",
        hint="keep its command",
    )
    cpu = pod_requests(pod).get("cpu")
    facts.expect(
        cpu is not None and cpu.milli_value() >= v.cpu,
        found=f"a CPU request of {cpu or 'nothing'}",
        expected=f"at least {v.cpu}m",
        hint="a limit that goes takes the request with it if only the limit was written",
    )


@checks.check("shop")
def shop(facts: Facts) -> None:
    v = facts.variant
    pods = facts.pods_of(v.shop)
    where = Counter(pod.spec.node_name for pod in pods)
    facts.expect(
        where == {"edge-a": 2, "edge-b": 2},
        found=f"pods of {v.shop} by node: {dict(where)}",
        expected="two at edge-a and two at edge-b",
        hint="zone c counts with 0 pods although none may go there: which policy says that taints count? A rolling "
        "update needs a minute",
    )
    for pod in pods:
        facts.needs_the_scheduler(pod)
        facts.expect(
            any(
                c.topology_key in DOMAINS
                and c.when_unsatisfiable == "DoNotSchedule"
                and c.max_skew == 1
                and LabelSelectorMatcher(c.label_selector).matches(pod.metadata.labels)
                for c in pod.spec.topology_spread_constraints
            ),
            found=f"{pod.metadata.name} has no hard constraint with maxSkew 1 over zones or nodes",
            expected="such a constraint in every pod, as before",
            hint="keep the constraint, and say which nodes it counts",
        )


@checks.never("zone")
def zone_c(moment: Moment) -> str:
    pod = moment.change.object
    if pod.kind != "Pod" or moment.change.type == "DELETED" or pod.spec.node_name != "edge-c":
        return ""
    return f"{pod.metadata.name} was placed on edge-c"


@checks.check("urgent")
def urgent(facts: Facts) -> None:
    v = facts.variant
    pod = facts.pod(v.urgent)
    facts.expect(
        bool(pod.spec.node_name),
        found=waits(facts, pod),
        expected=f"{v.urgent} on core-1",
        hint="a class with preemptionPolicy Never removes nobody; a lower priority neither",
    )
    facts.expect(
        pod.spec.node_name == "core-1" and (pod.spec.priority or 0) < SYSTEM,
        found=f"{v.urgent} on {pod.spec.node_name} with class {pod.spec.priority_class_name or 'none'}",
        expected=f"{v.urgent} on core-1 with a class for applications",
        hint="keep its selector, and leave the system classes to the cluster itself",
    )
    facts.needs_the_scheduler(pod)
    left = len(facts.pods("default", {"app": v.batch}))
    facts.expect(
        left == v.left,
        found=f"{3 - left} {v.batch} pods are gone",
        expected=f"{v.needs}",
        hint="the scheduler removes as few as the request needs",
    )


@checks.again("report", "the report is made again")
def report_again(facts: Experiment) -> None:
    """It waits while data-1 is full, although a new node has room, and runs on data-1 afterwards."""
    name = facts.variant.report
    made = facts.manifest(name, main="cpu=1 memory=20Mi")
    facts.delete("Pod", name)
    facts.add_node_like("app-1", "app-2")
    facts.neighbour("data-1", "memory=20Mi", "visitor", cpu=f"{facts.free_cpu('data-1')}m")
    facts.apply(made)
    facts.let_pass(10)
    elsewhere = facts.pod(name).spec.node_name
    facts.delete("Pod", "visitor")
    facts.delete("Node", "app-2")
    facts.expect(
        not elsewhere,
        found=f"{name} on {elsewhere} while data-1 is full",
        expected=f"{name} waits for data-1",
        hint="a preference, or a request that fits nowhere else today, does not keep it away from other nodes",
    )
    facts.let_pass(15)
    pod = facts.runs(name, "does its manifest lead it to data-1 by itself?")
    facts.expect(pod.spec.node_name == "data-1", found=f"it is on {pod.spec.node_name}", expected="data-1")
    hint = "the pod needs at least 1 CPU: a CPU limit below that throttles it, whatever the pod requests"
    facts.gets_cpu(pod.name, 1000, "1 CPU", hint)


@checks.again("orders", "the next replica")
def orders_again(facts: Experiment) -> None:
    v = facts.variant
    work = {"server": "cpu=0.45 memory=136Mi", v.side: f"cpu=0.05 memory={v.need * 11 // 10}Mi"}
    hint = "every pod of this manifest has its limits, and server keeps almost all of its own limit"
    name = facts.busy_replica(v.orders, 60, hint, **work)
    hint = "a CPU limit below what a container needs stops its work instead of its restarts"
    facts.gets_cpu(name, 500, f"500m: server 450m and {v.side} 50m", hint)


@checks.again("checkout", "a busy neighbour")
def checkout_busy(facts: Experiment) -> None:
    v = facts.variant
    facts.neighbour(facts.pod(v.checkout).spec.node_name, "cpu=4 memory=20Mi")
    facts.let_pass(2)
    facts.gets_cpu(v.checkout, v.cpu, f"the {v.cpu}m of its request")
    facts.busy_replica(v.checkout, 10, "a request that takes most of the node leaves no room for a second pod")


@checks.again("shop", "two more replicas")
def shop_grows(facts: Experiment) -> None:
    v = facts.variant
    facts.patch("Deployment", v.shop, {"spec": {"replicas": 6}})
    facts.let_pass(30)
    where = Counter(pod.spec.node_name for pod in facts.pods_of(v.shop))
    facts.expect(where == {"edge-a": 3, "edge-b": 3}, found=f"pods by node: {dict(where)}", expected="three at each")


@checks.again("urgent", "the batch pods are back")
def urgent_again(facts: Experiment) -> None:
    v = facts.variant
    urgent_pod = facts.manifest(v.urgent)
    facts.delete("Pod", v.urgent)
    left = [pod.metadata.name for pod in facts.pods("default", {"app": v.batch})]
    for name in {f"{v.batch}-{n}" for n in range(1, 4)} - {*left}:
        made = facts.manifest(left[0], new_name=name)
        made["spec"]["nodeName"] = "core-1"  # where they were on Monday: elsewhere there would be room for them
        facts.apply(made)
    facts.let_pass(15)
    facts.apply(urgent_pod)
    facts.let_pass(90)
    facts.runs(v.urgent, "its class must let it preempt every time")
    facts.runs("db", "only the batch pods are worth less")
    gone = 3 - len(facts.pods("default", {"app": v.batch}))
    facts.expect(gone == v.needs, found=f"{gone} {v.batch} pods are gone", expected=f"{v.needs}")


@checks.observed("pending", at_start=True)
def pending(facts: Facts) -> int:
    return sum(not pod.spec.node_name for pod in facts.pods())
