"""Exercises that are judged by a cluster or a manifest: answers that their authors did not write, right and wrong.

A case is: notebook and exercise, what the learner does (a function of the lesson's cluster, or the answer itself), and
words of the hint; "" = it is right. The clusters are those of the notebooks, as small as the exercise needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.lab import (
    container,
    disruption_budget,
    limit_range,
    pod,
    pod_cgroup,
    quota_of,
    spread,
)
from kitlib.lab.devices import claim_template, device_request, resource_claim
from kitlib.lab.exercise import judged
from kitlib.lab.lessons import content
from kitlib.study.scenario import ZONE

Do = Callable[[Any], Any]


def applied(*manifests: Any, wait: float = 5, answer: Any = True) -> Do:
    """Apply, let time pass, and answer a value or what a function of the cluster gives."""

    def act(cluster: Any) -> Any:
        cluster.apply(list(manifests))
        cluster.advance(wait)
        return answer(cluster) if callable(answer) else answer

    return act


def trio(helper: str = "100m", main: str = "400m") -> Any:
    first = container("prepare", cpu="700m", cpu_limit="700m")
    first["command"] = ["true"]
    both = [container("main", cpu_limit=main), container("helper", cpu_limit=helper)]
    return pod("trio", init=[first], containers=both)


def quota(cluster: Any) -> Any:
    return quota_of(pod_cgroup(cluster, "trio"))


def resized(limit: str, answer: Any, wait: float = 3) -> Do:
    def act(cluster: Any) -> Any:
        cluster.apply(pod("busybox", cpu="250m", cpu_limit="500m"))
        cluster.advance(5)
        if limit:
            cluster.resize("busybox", {"main": {"limits": {"cpu": limit}}})
        cluster.advance(wait)
        return answer

    return act


MAIN = container("main", cpu="500m", cpu_limit="500m", memory="128Mi", memory_limit="128Mi")


def beside(**amounts: str) -> Any:
    return pod("sidecar", containers=[MAIN, container("logger", **amounts)])


def more(count: int = 5, **amounts: str) -> list[Any]:
    return [pod(f"more-{i}", **(amounts or {"cpu": "100m"})) for i in range(count)]


def weight(cluster: Any) -> Any:
    return cluster.node().read("/kubepods/burstable", "cpu.weight")


def two(a: str, b: str, limit_a: str = "", limit_b: str = "80Mi") -> Any:
    both = [container("a", memory_limit=limit_a), container("b", memory_limit=limit_b)]
    made = pod("pair", containers=both, restart="Never")
    for one in both:
        del one["command"]
    made["metadata"]["annotations"] = {"kitlib.dev/workload.a": f"memory={a}", "kitlib.dev/workload.b": f"memory={b}"}
    return made


def leaks(to: str, answer: Any = True, wait: float = 120) -> Do:
    def act(cluster: Any) -> Any:
        cluster.apply(pod("leak", memory="50Mi", memory_limit="100Mi", uses="3s memory=60Mi; memory=200Mi"))
        cluster.advance(6)
        if to:
            cluster.resize("leak", {"main": {"limits": {"memory": to}}})
        cluster.advance(wait)
        return answer

    return act


def java(*rules: tuple[str, str], **amounts: str) -> Any:
    policy = [{"resourceName": name, "restartPolicy": then} for name, then in rules]
    resources = amounts or {"cpu": "100m", "memory": "64Mi", "memory_limit": "128Mi"}
    return pod("java", containers=[container(**resources) | {"resizePolicy": policy}])


RESTART = ("memory", "RestartContainer")
TAKEN = {"cpu": "500m", "memory": "256Mi"}
CASES: dict[str, list[tuple[Any, str]]] = {
    "01 trio": [
        (applied(trio(), answer=quota), ""),
        (applied(trio(), wait=20, answer="70000"), ""),
        (applied(trio("0.1"), answer=70000.0), ""),
        (lambda cluster: 70000, "no pod trio"),
        (applied(trio(""), answer=70000), "needs a CPU limit of 100m"),
        (applied(trio(main="300m"), answer=70000), "keeps its CPU limit"),
        (applied(trio(), answer=40000), "has a limit now, too"),
        (applied(trio(), answer=50000), "more than both together"),
        (applied(trio(), answer=120000), "another number"),
    ],
    "01 resize": [
        (resized("1", 0), ""),
        (resized("1000m", "0"), ""),
        (resized("1", 0.0, wait=60), ""),
        (resized("", 0), "not 1"),
        (resized("2", 0), "not 1"),
        (resized("1", 1), "Count again"),
        (resized("1", 3), "Count again"),
        (resized("1", -1), "Count again"),
    ],
    "02 cheapest": [
        (beside(cpu_limit="1m", memory_limit="4Mi"), ""),
        (beside(cpu="1m", cpu_limit="1m", memory="6Mi", memory_limit="6Mi"), ""),
        (beside(cpu_limit="10m", memory_limit="16Mi"), ""),
        (beside(), "needs a limit"),
        (beside(cpu_limit="1m"), "needs a limit"),
        (beside(cpu="1m", cpu_limit="2m", memory_limit="4Mi"), "no other request"),
        (beside(cpu_limit="500m", memory_limit="4Mi"), "much less CPU"),
        (beside(cpu_limit="1m", memory_limit="128Mi"), "much less memory"),
        (pod("sidecar", containers=[MAIN]), "main and logger"),
    ],
    "02 more": [
        (applied(*more(), answer=weight), ""),
        (applied(*more(), wait=61, answer=lambda c: int(weight(c))), ""),
        (applied(*more(cpu="100m", memory="16Mi"), answer=weight), ""),
        (applied(*more(4), answer=weight), "are missing"),
        (applied(*more(memory="0"), answer=weight), "need a request"),
        (applied(*more(), answer=1), "Read"),
        (applied(*more(), answer=500), "Read"),
        (applied(*more(cpu="100m", cpu_limit="100m", memory="8Mi", memory_limit="8Mi"), answer=weight), "no limits"),
    ],
    "04b neighbour": [
        (applied(two("60Mi", "90Mi"), wait=20, answer="b"), ""),
        (applied(two("60Mi", "300Mi", limit_b="200Mi"), wait=20, answer="b"), ""),
        (applied(two("60Mi", "90Mi", limit_a="128Mi"), wait=60, answer="b"), ""),
        (lambda cluster: "b", "no pod pair"),
        (applied(two("60Mi", "70Mi"), wait=20, answer="b"), "Killed so far: none"),
        (applied(two("60Mi", "90Mi", limit_a="50Mi"), wait=20, answer="b"), "Killed so far"),
        (applied(two("60Mi", "90Mi"), wait=20, answer="a"), "which container"),
        (applied(two("60Mi", "90Mi"), wait=20, answer="both"), "which container"),
    ],
    "04 never": [
        (applied(pod("once", memory_limit="100Mi", uses="memory=200Mi", restart="Never"), answer="OOMKilled"), ""),
        (
            applied(pod("once", memory_limit="50Mi", uses="memory=60Mi", restart="Never"), wait=60, answer="OOMKilled"),
            "",
        ),
        (
            applied(
                pod("once", memory_limit="100Mi", uses="2s memory=1Mi; memory=1Gi", restart="Never"), answer="OOMKilled"
            ),
            "",
        ),
        (lambda cluster: "OOMKilled", "no pod once"),
        (applied(pod("once", memory_limit="100Mi", uses="memory=200Mi"), answer="OOMKilled"), "is restarted"),
        (
            applied(pod("once", memory_limit="100Mi", uses="memory=20Mi", restart="Never"), answer="OOMKilled"),
            "not ended yet",
        ),
        (
            applied(pod("once", memory_limit="100Mi", uses="memory=200Mi", restart="Never"), answer="Failed"),
            "phase is Failed",
        ),
        (
            applied(pod("once", memory_limit="100Mi", uses="memory=200Mi", restart="Never"), answer="Error"),
            "phase is Failed",
        ),
    ],
    "04 cure": [
        (leaks("300Mi"), ""),
        (leaks("314572800"), ""),
        (leaks("300Mi", wait=300), ""),
        (leaks(""), "Its limit is 100Mi"),
        (leaks("200Mi"), "Its limit is 200Mi"),
        (leaks("1Gi"), "Its limit is 1024Mi"),
        (leaks("300Mi", wait=0), "waits for its restart"),
        (leaks("300Mi", answer="yes"), "answer True"),
    ],
    "05 honest": [
        ("300Mi", ""),
        ("280Mi", ""),
        (str(400 * 2**20), ""),
        ("1Mi", "Request more"),
        ("100Mi", "Request more"),
        ("0", "Request more"),
        ("1Gi", "no room"),
        ("8Gi", "no room"),
    ],
    "06 configure": [
        (["--kube-reserved=cpu=500m,memory=1Gi", "--eviction-hard=memory.available<1Gi"], ""),
        (["--kube-reserved=cpu=300m,memory=512Mi", "--system-reserved=cpu=200m,memory=1436Mi"], ""),
        (["--system-reserved=cpu=0.5", "--eviction-hard=memory.available<25%"], ""),
        (["--kube-reserved=cpu=500m,memory=2Gi"], "default threshold"),
        (["--kube-reserved=memory=1Gi", "--eviction-hard=memory.available<1Gi"], "4000m of CPU"),
        (["--kube-reserved=cpu=500m,memory=1Gi", "--eviction-soft=memory.available<1Gi"], "grace period"),
        (["--kube-reserved=cpu=5"], "-1000m of CPU"),
        ([], "4000m of CPU"),
    ],
    "07 exactly": [
        (applied(pod("two", cpu="700m"), pod("more", cpu="800m"), answer=weight), ""),
        (applied(pod("two", cpu="700m"), *more(8), answer=weight), ""),
        (applied(pod("one", cpu="1500m"), answer=lambda c: float(weight(c))), ""),
        (applied(pod("two", cpu="700m"), answer=weight), "request 700m"),
        (applied(pod("two", cpu="1600m"), answer=weight), "request 1600m"),
        (applied(pod("g", cpu="1500m", memory="64Mi", guaranteed=True), answer=weight), "request 0m"),
        (applied(pod("two", cpu="1500m"), answer=1500), "Read"),
        (applied(pod("two", cpu="1500m"), answer=1536), "Read"),
    ],
    "11 survives": [
        ("125Mi", ""),
        ("160Mi", ""),
        (str(288 * 2**20), ""),
        ("120Mi", "40 MiB above"),
        ("20Mi", "140 MiB above"),
        ("0", "160 MiB above"),
        ("300Mi", "does not fit on the node"),
        ("1Gi", "does not fit on the node"),
    ],
    "15 hints": [
        (("no", "yes"), ""),
        (["No", "YES"], ""),
        (("NO", "yes"), ""),
        (("yes", "yes"), "does a label"),
        (("no", "no"), "tries again"),
        (("yes", "no"), "does a label"),
        ("no", "does a label"),
        (("perhaps", "yes"), "does a label"),
    ],
    "21 budget": [
        (disruption_budget("web", maxUnavailable=1), ""),
        (disruption_budget("web", minAvailable=2), ""),
        (disruption_budget("web", minAvailable="60%"), ""),
        (disruption_budget("keep-two", "web", maxUnavailable="30%"), ""),
        (disruption_budget("web", minAvailable=3), "no eviction is allowed"),
        (disruption_budget("web", maxUnavailable=0), "no eviction is allowed"),
        (disruption_budget("web", minAvailable=1), "2 must stay"),
        (disruption_budget("web", maxUnavailable="50%"), "2 must stay"),
        (disruption_budget("api", minAvailable=2), "protects nobody"),
    ],
    "21b constraint": [
        (spread(ZONE, nodeTaintsPolicy="Honor"), ""),
        (spread(ZONE, max_skew=2, labelSelector={"matchLabels": {"app": "web"}}), ""),
        (spread(ZONE, max_skew=3, nodeTaintsPolicy="Ignore"), ""),
        (spread(ZONE), "zone counts as empty"),
        (spread(ZONE, soft=True), "stay hard"),
        (spread(ZONE, minDomains=3, nodeTaintsPolicy="Honor"), "zone counts as empty"),
        (spread("kubernetes.io/hostname", nodeTaintsPolicy="Honor"), "over zones"),
        (spread(ZONE, labelSelector={"matchLabels": {"app": "api"}}), "selects none"),
        (spread(ZONE, nodeAffinityPolicy="Ignore"), "zone counts as empty"),
    ],
    "21b request": [
        ("250m", ""),
        (0.25, ""),
        ("240m", ""),
        ("270m", ""),
        ("160m", "the other way round"),
        ("200m", "wants more than 4"),
        ("400m", "wants fewer than 4"),
        ("250", "wants fewer than 4"),
        ("0", "nothing to divide by"),
        ("1m", "too small"),
    ],
    "22 limit-range": [
        (limit_range("team", default=TAKEN), ""),
        (limit_range("team", default=TAKEN, defaultRequest=TAKEN), ""),
        (limit_range("x", default={**TAKEN, "ephemeral-storage": "1Gi"}, max={"memory": "1Gi"}), ""),
        (limit_range("team", defaultRequest=TAKEN), "no limit of cpu and memory"),
        (limit_range("team", default={"cpu": "500m"}), "no limit of memory"),
        (limit_range("team", default=TAKEN, defaultRequest={"cpu": "100m"}), "differ"),
        (limit_range("team", default=TAKEN, max={"memory": "128Mi"}), "refused"),
        (limit_range("team", max={"cpu": "1"}), "no limit of memory"),
        (limit_range("team", default=TAKEN, min={"memory": "512Mi"}), "refused"),
    ],
    "22b policy": [
        (java(RESTART), ""),
        (java(RESTART, ("cpu", "NotRequired")), ""),
        (java(RESTART, cpu="200m", memory="64Mi"), ""),
        (java(), "NotRequired is the default"),
        (java(("memory", "NotRequired")), "NotRequired is the default"),
        (java(("cpu", "RestartContainer")), "its CPU is resized"),
        (java(RESTART, ("cpu", "RestartContainer")), "its CPU is resized"),
        (java(RESTART, cpu="100m"), "nothing to resize"),
    ],
    "22b largest": [
        ("1", ""),
        (1, ""),
        ("1000m", ""),
        ("1500m", "Deferred"),
        ("500m", "has already"),
        ("2", "do not fit"),
        ("800m", "may be more"),
        ("1001m", "do not fit"),
    ],
    "23b claim": [
        (resource_claim("mine", device_request("gpu", memory="40Gi")), ""),
        (resource_claim("other-name", device_request("gpu", memory="80Gi")), ""),
        (resource_claim("mine", [device_request("a", memory="17Gi"), device_request("b")]), ""),
        (resource_claim("mine", device_request("gpu")), "how large"),
        (resource_claim("mine", device_request("gpu", memory="16Gi")), "how large"),
        (resource_claim("mine", device_request("gpu", memory="81Gi")), "No device fits"),
        (resource_claim("mine", device_request("gpu", memory="40Gi", count=2)), "No device fits"),
        (resource_claim("mine", [device_request("two", count=2), device_request("b", memory="40Gi")]), "how large"),
        (claim_template("mine", device_request("gpu", memory="40Gi")), "A ResourceClaim is asked for"),
    ],
    "23b list": [
        (claim_template("pair", [device_request("pair", count=2), device_request("large", memory="40Gi")]), ""),
        (claim_template("pair", [device_request("two", "16Gi", count=2), device_request("one")]), ""),
        (claim_template("p", [device_request("a", count=2), device_request("b", "80Gi"), device_request("c")]), ""),
        (claim_template("pair", [device_request("large", "40Gi"), device_request("pair", count=2)]), "named first"),
        (claim_template("pair", device_request("pair", count=2)), "second pod gets nothing"),
        (claim_template("pair", device_request("large", "40Gi")), "named first"),
        (claim_template("pair", device_request("three", count=3)), "first pod gets nothing"),
        (resource_claim("pair", [device_request("a", count=2), device_request("b")]), "A template is asked for"),
    ],
}
ROWS = [
    pytest.param(exercise, answer, words, id=f"{exercise}, answer {number}: {words or 'right'}")
    for exercise, rows in CASES.items()
    for number, (answer, words) in enumerate(rows, start=1)
]


@pytest.mark.parametrize(("exercise", "answer", "words"), ROWS)
def test_an_answer_is_judged_by_what_it_does(exercise: str, answer: Any, words: str) -> None:
    notebook, key = exercise.split()
    with Cluster.simulated([{"name": "node-1", "cpus": 4, "memory": "4Gi"}]) as cluster:
        given = answer(cluster) if callable(answer) else answer
        made = judged(content(notebook).exercises[key], given, cluster)
    assert made.right is (not words), made.text
    assert words in made.text
