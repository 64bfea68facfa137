"""Questions and exercises of notebook 22b, resize in place."""

from __future__ import annotations

from typing import Any

from kitlib.api.resource import Quantity
from kitlib.cluster import Cluster
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, first_problem

DEFERRED, INFEASIBLE = "Deferred: it waits", "Infeasible: it never will"
AT_ONCE, MINUTES, NEVER = "it gets its CPU within seconds", "after three minutes", "never: it must be asked for again"
API, KUBELET = "the API server refuses it", "the kubelet does not do it, and says so"
DONE, KILLED = "it is done", "the process is killed"
RESIZABLE: tuple[str, ...] = ("cpu", "memory")


def _requests(seen: Findings, *counted: str) -> dict[str, float]:
    """Return the CPU requests of the cluster's pods in milli-CPU, and the sum of those that are counted.

    A pod with a pending resize has two: what it has and what it wants.
    """
    found: dict[str, float] = {}
    for pod in seen.cluster.pods():
        wants = pod.spec.containers[0].resources.requests["cpu"].milli_value()
        states = pod.status.container_statuses
        has = states[0].resources.requests["cpu"].milli_value() if states and states[0].resources else wants
        found |= {pod.name: wants} if has == wants else {f"{pod.name} has": has, f"{pod.name} wants": wants}
    return found | {"together": sum(found[name] for name in counted)}


def _allocatable(seen: Findings) -> list[tuple[str, float]]:
    return [("allocatable", seen.cluster.nodes[0].status.allocatable["cpu"].milli_value())]


def _policy(answer: Any, _: Any) -> str:
    """Judge a pod by resizing it on a cluster and counting its restarts."""
    manifest = dict(answer)
    with Cluster.simulated([{"name": "n1", "cpus": 4, "memory": "4Gi"}]) as cluster:
        (made,) = cluster.apply(manifest)
        cluster.advance(5)
        restarts = []
        for name in RESIZABLE:
            of = cluster.pod(made.name).spec.containers[0]
            both = {"requests": of.resources.requests, "limits": of.resources.limits}
            more = {kind: {name: _more(amounts[name])} for kind, amounts in both.items() if name in amounts}
            if not more:
                return f"The container has neither request nor limit of {name}: there is nothing to resize."
            cluster.resize(made.name, {of.name: more})
            cluster.advance((made.spec.termination_grace_period_seconds or 0) + 15)  # process 1 may ignore SIGTERM
            restarts.append(cluster.pod(made.name).status.container_statuses[0].restart_count)
    return first_problem(
        (restarts[0] > 0, "The container restarts when its CPU is resized."),
        (
            restarts[1] == restarts[0],
            "The container does not restart when its memory is resized: NotRequired is the default.",
        ),
    )


def _more(amount: Quantity) -> str:
    return f"{amount.milli_value() * 5 // 4}m" if amount.milli_value() % 1000 else str(amount.value() * 5 // 4 + 1)


def _largest(answer: Any, _: Any) -> str:
    milli = Quantity.parse(str(answer)).milli_value()
    return first_problem(
        (milli == 1500, "1500m is the free CPU without other: the resize would be Deferred."),
        (milli == 500, "500m is the free CPU in addition to the CPU that web has already."),
        (milli > 1000, f"{milli}m and the 1 CPU of other do not fit on the node: Deferred."),
        (milli < 1000, "The request may be more: web can get all CPU that other does not request."),
    )


QUESTIONS = [
    Question(
        "resize",
        "What is the kubelet's answer to the resize of the pod web to 1500m?",
        choices=["it is done: other gets less", DEFERRED, INFEASIBLE],
        answer_of=lambda reasons: {"Deferred": DEFERRED, "Infeasible": INFEASIBLE}.get((reasons or [""])[0], DONE),
        why="The node has enough CPU for the resize only without the pod other. The pod web keeps "
        "its current CPU limit.",
        picture=show.amounts(
            "CPU requests of the node",
            lambda seen: _requests(seen, "other", "web wants"),
            unit="m",
            bounds=_allocatable,
            picked=["together"],
        ),
    ),
    Question(
        "room",
        "Does the pod late, which requests 200m, fit on the node?",
        choices=["yes: 500m are not allocated", "no: what web waits for counts already"],
        answer_of=lambda node: "yes: 500m are not allocated" if node else "no: what web waits for counts already",
        why="The scheduler uses the larger of the desired and the allocated request. So a pending resize "
        "takes room from other pods.",
        picture=show.amounts(
            "CPU that the scheduler counts",
            lambda seen: _requests(seen, "other", "web wants", "late"),
            unit="m",
            bounds=_allocatable,
            picked=["together"],
        ),
    ),
    Question(
        "then",
        "After the pod other is deleted, when does the pod web get its new request?",
        choices=[AT_ONCE, MINUTES, NEVER],
        answer_of=lambda seconds: AT_ONCE if seconds < 60 else MINUTES if seconds < 239 else NEVER,
        why="The kubelet tries a deferred resize again when a pod is removed, and every three minutes.",
        picture=show.moments(
            "The resize of web, from the end of other",
            lambda seen: {
                "web": [
                    show.TimeSpan(0, max(seen.observed, 0.1), "waits", "Deferred"),
                    show.TimePoint(seen.observed, "new", "gets its CPU"),
                ]
            },
        ),
    ),
    Question(
        "too-much",
        "What happens to the resize of the pod web to 64 CPUs?",
        choices=[DEFERRED, INFEASIBLE, API],
        answer_of=lambda text: DEFERRED if "Deferred" in text else INFEASIBLE if "Infeasible" in text else API,
        why="Since 1.36 an admission plugin compares the new request with the node's allocatable CPU.",
        picture=show.admission(
            "The way of the resize", "64 CPUs", refused=lambda seen: "PodResize" not in seen.observed, way=show.RESIZE
        ),
    ),
    Question(
        "guaranteed",
        "What happens to the resize that would make the pod web Guaranteed?",
        choices=[DONE, KUBELET, API],
        answer_of=lambda text: API if "QOS Class may not change" in text else KUBELET if text else DONE,
        why="A pod's QoS class never changes, because cgroups and eviction depend on it.",
        picture=show.admission(
            "The way of the resize",
            "requests equal to limits",
            refused=lambda seen: "QOS Class may not change" in seen.observed,
            way=show.RESIZE,
        ),
    ),
    Question(
        "shrink",
        "What happens to the resize of the pod heap to a memory limit below its usage?",
        choices=[KILLED, KUBELET, API],
        answer_of=lambda text: KUBELET if "below current usage" in text else API if "invalid" in text else KILLED,
        why="The kubelet checks the memory usage before it writes a lower limit. Then the condition "
        "PodResizeInProgress has the reason Error.",
        picture=show.admission(
            "The way of the resize",
            "a limit of 150Mi, 200Mi in use",
            refused=lambda seen: "below current usage" in seen.observed,
            by="kubelet",
            way=show.RESIZE,
        ),
    ),
]

EXERCISES = [
    Exercise(
        "policy",
        'resizePolicy is a list of {"resourceName": ..., "restartPolicy": ...}; NotRequired is the default.',
        _policy,
        'rule = {"resourceName": "memory", "restartPolicy": "RestartContainer"}\n'
        'main = container(cpu="100m", memory="64Mi", memory_limit="128Mi") | {"resizePolicy": [rule]}\n'
        'answer = pod("java", containers=[main])',
        "Programs that determine their heap size only when they start need such a restart.",
    ),
    Exercise(
        "largest",
        "Subtract the CPU request of the pod other from the allocatable CPU.",
        _largest,
        'answer = "1"',
        "The pod other requests 1 of the 2 CPUs.",
    ),
]
