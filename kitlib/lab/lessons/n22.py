"""Questions and exercises of notebook 22, LimitRange and ephemeral storage."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.manifests import pod

REFUSED = "it is refused"
OLD, NEW = "nothing: they keep what they have", "they get the defaults too"
EVICTED = "the kubelet evicts the pod"


def _limit_range(answer: Any, _: Any) -> str:
    with Cluster.simulated(1, kubelets=False) as cluster:
        try:
            cluster.apply(dict(answer))
            cluster.apply(pod("plain"))
        except KitError as error:
            return f"The API server refused it: {str(error).splitlines()[0]}"
        made = cluster.pod("plain")
    limits = made.spec.containers[0].resources.limits
    missing = [name for name in ("cpu", "memory") if name not in limits]
    return first_problem(
        (bool(missing), f"The pod has no limit of {' and '.join(missing)}."),
        (made.status.qos_class != "Guaranteed", "The pod's requests differ from its limits."),
    )


QUESTIONS = [
    Question(
        "class",
        "Which QoS class does the pod plain have?",
        choices=["BestEffort", "Burstable", "Guaranteed"],
        why="The LimitRange gives the pod plain requests that differ from its limits. With the "
        "LimitRange, a pod without resources is not BestEffort.",
        picture=show.pod("plain"),
    ),
    Question(
        "limited",
        "Which CPU request does the pod limited have, in thousandths of a CPU?",
        unit="m",
        why="The API server sets a missing request to the container's own limit before it applies the LimitRange.",
        picture=show.pod("limited"),
    ),
    Question(
        "asking",
        "What happens to the pod asking, which requests 1 CPU?",
        choices=["it gets a limit of 1 CPU", "its request is lowered to 500m", REFUSED],
        answer_of=lambda text: (
            REFUSED if "must be less than or equal to cpu limit" in text else "it gets a limit of 1 CPU"
        ),
        why="The pod asking gets the default limit of 500m, and a request must not exceed the limit. The "
        "error message names a limit that the manifest does not contain.",
        picture=show.admission(
            "The way of the pod asking",
            "requests 1 CPU; gets a limit of 500m",
            refused=lambda seen: "must be less than" in seen.observed,
        ),
    ),
    Question(
        "running",
        "What does the LimitRange change in pods that already run?",
        choices=[OLD, NEW],
        answer_of=lambda limits: NEW if limits else OLD,
        why="An admission plugin applies the LimitRange only when a pod is created.",
        picture=show.pod("early"),
    ),
    Question(
        "full",
        "What happens when the pod writer exceeds its limit of ephemeral storage?",
        choices=["its writes fail: no space left", "the kernel kills it", EVICTED],
        answer_of=lambda reason: EVICTED if reason == "Evicted" else "its writes fail: no space left",
        why="No cgroup limits the disk space that a pod uses. The kubelet measures the usage every ten seconds and "
        "evicts the pod. Until then the pod can fill the disk.",
        picture=show.fates("What became of each pod", {"writer": "600Mi in its layer, limit 500Mi"}),
    ),
    Question(
        "counted",
        "Which of the four pods does the kubelet evict?",
        choices=["only writer", "writer and logger", "writer, logger and scratch"],
        answer_of=lambda names: {1: "only writer", 2: "writer and logger"}.get(
            len(names), "writer, logger and scratch"
        ),
        why="The kubelet adds up writable layers, logs and emptyDir volumes on disk. An emptyDir in memory counts as "
        "memory.",
        picture=show.fates(
            "What became of each pod",
            {
                "writer": "600Mi in its layer",
                "logger": "600Mi of logs",
                "scratch": "600Mi in an emptyDir",
                "small": "100Mi",
            },
        ),
    ),
    Question(
        "pressure",
        "Which pod does the kubelet evict when the node's disk is full?",
        choices=["greedy", "asked", "quiet"],
        answer_of=lambda names: names[0] if len(names) == 1 else ", ".join(names),
        why="The kubelet ranks pods as for memory: pods above their request come first, then pods of "
        "lower priority, then pods with a larger excess. The QoS class has no effect.",
        picture=show.fates(
            "What became of each pod", {"greedy": "6Gi, no request", "asked": "4Gi, requests 5Gi", "quiet": "100Mi"}
        ),
    ),
]

EXERCISES = [
    Exercise(
        "limit-range",
        "A Guaranteed pod has limits of CPU and memory, and requests equal to them. What is the "
        "request if only a limit is set?",
        _limit_range,
        'answer = limit_range("team", default={"cpu": "500m", "memory": "256Mi"})',
        "Without defaultRequest, the default limit is also the default request.",
    ),
    Exercise(
        "allocatable",
        "The default hard threshold of the disk is a share of its size: nodefs.available<10%.",
        number(
            9,
            {
                10: "The hard eviction threshold is taken off the capacity of the disk.",
                8.5: "15% is the threshold of imagefs.",
            },
            otherwise="Allocatable is 10Gi less 10%.",
        ),
        "answer = 9",
        "Allocatable is capacity minus reservations minus the hard threshold, as with memory.",
    ),
]
