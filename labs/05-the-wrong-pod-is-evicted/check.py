"""The kubelet evicted the cache, and the report runs."""

from kitlib.api.podresources import pod_requests
from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()
PRESSURE_ENDS = 330
"""Seconds after which the node takes pods again (evictionPressureTransitionPeriod, 5 minutes)."""


def evicted(facts: Facts, name: str) -> bool:
    return facts.pod(name).status.reason == "Evicted"


def seconds(facts: Facts, pod, state: str, moment: str) -> float:
    """Seconds since the container of a pod came into a state; 0 = it is not in it."""
    found = [s.state[state] for s in pod.status.container_statuses if state in s.state]
    return min((facts.seconds_since(one.get(moment)) for one in found), default=0.0)


@checks.check("victim")
def victim(facts: Facts) -> None:
    v = facts.variant
    report, cache = facts.pod(v.report), facts.pod(v.cache)
    if evicted(facts, v.report):
        requested = pod_requests(report).get("memory")
        covered = requested is not None and requested.value() > v.use * 2**20
        raise Wrong(
            f"{v.report} was evicted: {report.status.message}",
            f"{v.cache} evicted, {v.report} running",
            f"neither exceeds its request, so the rest decides: let {v.cache} request less than it uses"
            if covered
            else f"{v.report} requests {requested or 'nothing'} and uses {v.use} MiB: pods above their request go "
            "first, and among them the one with less priority, then the one that is further above",
        )
    for pod in (report, cache):
        facts.expect(
            bool(pod.spec.node_name),
            found=f"{pod.metadata.name} is pending",
            expected="both pods on the node",
            hint="the two requests together do not fit on the node: waiting does not help, lower the one of "
            f"{v.cache}, which may be less than it uses",
        )
    for pod in (report, cache):
        for status in pod.status.container_statuses:
            ended = (status.state.get("terminated") or status.last_state.get("terminated") or {}).get("reason")
            facts.expect(
                ended != "OOMKilled",
                found=f"{pod.metadata.name} was killed at its own limit",
                expected=f"{v.cache} evicted by the kubelet",
                hint="a limit below the use makes the kernel kill it before the kubelet can evict",
            )
    facts.expect(
        evicted(facts, v.cache),
        found="nobody was evicted",
        expected=f"{v.cache} evicted",
        hint=f"{v.cache} grows after 20 s; the kubelet looks every 10 s: lab.cluster.advance(60)",
    )
    facts.needs_to_run(report, f"why did {v.report} end? look at its status")
    came, ended = seconds(facts, report, "running", "startedAt"), seconds(facts, cache, "terminated", "finishedAt")
    facts.expect(
        came > ended,
        found=f"{v.report} started {ended - came:.0f} s after {v.cache} was evicted",
        expected=f"{v.report} running when the kubelet evicted",
        hint=f"the kubelet had no choice: {v.report} was not there. Start both, then let {v.cache} grow",
    )
    facts.events("Evicted", v.cache)
    facts.memory_usage(report)


@checks.again("victim", "the next night")
def next_night(facts: Experiment) -> None:
    """Both are made again from the learner's manifests: the report takes more, and the cache grows to another size."""
    v = facts.variant
    cache = f"30s cpu=50m; cpu=50m memory={v.grow - 8 - v.busy + v.use}Mi"  # their sum stays between the two bounds
    manifests = [facts.manifest(v.report, main=f"cpu=50m memory={v.busy}Mi"), facts.manifest(v.cache, main=cache)]
    for name in (v.report, v.cache):
        facts.delete("Pod", name)
    facts.let_pass(PRESSURE_ENDS)
    facts.apply(*manifests)
    facts.let_pass(5)
    for name in (v.report, v.cache):
        facts.gets_cpu(name, 50, "50m, as on every busy night", "a CPU limit below its use stops a pod's work")
    facts.let_pass(45)
    facts.expect(
        evicted(facts, v.cache) and not evicted(facts, v.report),
        found=f"{v.report} is {facts.pod(v.report).status.phase}, {v.cache} is {facts.pod(v.cache).status.phase}",
        expected=f"{v.cache} evicted, {v.report} running",
        hint="both start from your manifests, and the cache takes another size than last night",
    )
    facts.runs(v.report)


@checks.observed("priority", at_start=True)
def priority(facts: Experiment) -> str:
    v = facts.variant
    manifests = [facts.manifest(v.report), facts.manifest(v.cache)]
    manifests[0]["spec"] = {**manifests[0]["spec"], "priorityClassName": "above-all"}
    for name in (v.report, v.cache):
        facts.delete("Pod", name)
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "above-all"}}
    facts.apply({**kind, "value": 1000}, *manifests)
    facts.let_pass(120)
    return v.report if evicted(facts, v.report) else v.cache if evicted(facts, v.cache) else "none"
