"""Questions and exercises of notebook 22, LimitRange, ephemeral storage, resize."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from kitlib.cluster import Cluster
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.manifests import pod

REFUSED = "it is refused"
OLD, NEW = "nothing: they keep what they have", "they get the defaults too"
EVICTED = "the kubelet evicts the pod"
DEFERRED, INFEASIBLE = "Deferred: it waits", "Infeasible: it never will"
AT_ONCE, MINUTES, NEVER = "it gets its CPU within seconds", "after three minutes", "never: it must be asked for again"
API, KUBELET = "the API server refuses it", "the kubelet does not do it, and says so"
DONE, KILLED = "it is done", "the process is killed"

RESIZABLE: tuple[str, ...] = ("cpu", "memory")

QUESTIONS = [
    Question(
        "class",
        "Which class is plain in?",
        choices=["BestEffort", "Burstable", "Guaranteed"],
        why="It has got requests and limits, and they differ. In such a namespace nobody is BestEffort by omission.",
    ),
    Question(
        "limited",
        "Which CPU request has limited, in thousandths of a CPU?",
        unit="m",
        why="A request that is left out is set to the container's own limit before the LimitRange is asked.",
    ),
    Question(
        "asking",
        "What becomes of asking?",
        choices=["it gets a limit of 1 CPU", "its request is lowered to 500m", REFUSED],
        answer_of=lambda text: (
            REFUSED if "must be less than or equal to cpu limit" in text else "it gets a limit of 1 CPU"
        ),
        why="It gets the default limit of 500m, and a request may not exceed its limit. The message names a limit that "
        "its author never wrote.",
    ),
    Question(
        "running",
        "What does the LimitRange change about pods that run already?",
        choices=[OLD, NEW],
        answer_of=lambda limits: NEW if limits else OLD,
        why="It is an admission plugin: it sees pods when they are created.",
    ),
    Question(
        "full",
        "What happens when writer passes its limit?",
        choices=["its writes fail: no space left", "the kernel kills it", EVICTED],
        answer_of=lambda reason: EVICTED if reason == "Evicted" else "its writes fail: no space left",
        why="No cgroup limits a disk. The kubelet measures every ten seconds and evicts the whole pod; until then it "
        "may fill the disk.",
    ),
    Question(
        "counted",
        "Which of the four end?",
        choices=["only writer", "writer and logger", "writer, logger and scratch"],
        answer_of=lambda names: {1: "only writer", 2: "writer and logger"}.get(
            len(names), "writer, logger and scratch"
        ),
        why="Layers, logs and emptyDir volumes on disk count together. One in memory counts as memory.",
    ),
    Question(
        "pressure",
        "Who is evicted?",
        choices=["greedy", "asked", "quiet"],
        answer_of=lambda names: names[0] if len(names) == 1 else ", ".join(names),
        why="As with memory: first those above their request, then by priority, then by how far above. Class plays no "
        "part.",
    ),
    Question(
        "resize",
        "What does the kubelet say?",
        choices=["it is done: other gets less", DEFERRED, INFEASIBLE],
        answer_of=lambda reasons: {"Deferred": DEFERRED, "Infeasible": INFEASIBLE}.get((reasons or [""])[0], DONE),
        why="The node could offer it, but not beside other. The pod runs on with what it has.",
    ),
    Question(
        "room",
        "Does late fit?",
        choices=["yes: 500m are not allocated", "no: what web waits for counts already"],
        answer_of=lambda node: "yes: 500m are not allocated" if node else "no: what web waits for counts already",
        why="The scheduler counts the larger of wanted and allocated. A resize that waits keeps others out.",
    ),
    Question(
        "then",
        "When does web get what it waits for?",
        choices=[AT_ONCE, MINUTES, NEVER],
        answer_of=lambda seconds: AT_ONCE if seconds < 60 else MINUTES if seconds < 239 else NEVER,
        why="The kubelet tries again when a pod goes, and every three minutes.",
    ),
    Question(
        "too-much",
        "The resize to 64 CPUs?",
        choices=[DEFERRED, INFEASIBLE, API],
        answer_of=lambda text: DEFERRED if "Deferred" in text else INFEASIBLE if "Infeasible" in text else API,
        why="Since 1.36 an admission plugin compares with what the node can allocate.",
    ),
    Question(
        "guaranteed",
        "The resize that would make it Guaranteed?",
        choices=[DONE, KUBELET, API],
        answer_of=lambda text: API if "QOS Class may not change" in text else KUBELET if text else DONE,
        why="A pod's class never changes: cgroups and eviction go by it.",
    ),
    Question(
        "shrink",
        "The limit below what heap uses?",
        choices=[KILLED, KUBELET, API],
        answer_of=lambda text: KUBELET if "below current usage" in text else API if "invalid" in text else KILLED,
        why="Before it writes a lower limit the kubelet looks at the use; PodResizeInProgress has the reason Error.",
    ),
]


def _limit_range(answer: Any, _: Any) -> str:
    with Cluster.simulated(1, kubelets=False) as cluster:
        try:
            cluster.apply(dict(answer))
            cluster.apply(pod("plain"))
        except KitError as error:
            return f"It is refused: {str(error).splitlines()[0]}"
        made = cluster.pod("plain")
    limits = made.spec.containers[0].resources.limits
    missing = [name for name in ("cpu", "memory") if name not in limits]
    return first_problem(
        (bool(missing), f"The pod has no limit of {' and '.join(missing)}."),
        (made.status.qos_class != "Guaranteed", "The pod's requests differ from its limits."),
    )


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
        (restarts[0] > 0, "It restarts when its CPU is resized."),
        (restarts[1] == restarts[0], "It does not restart when its memory is resized: NotRequired is the default."),
    )


def _more(amount: Quantity) -> str:
    return f"{amount.milli_value() * 5 // 4}m" if amount.milli_value() % 1000 else str(amount.value() * 5 // 4 + 1)


def _largest(answer: Any, _: Any) -> str:
    milli = Quantity.parse(str(answer)).milli_value()
    return first_problem(
        (milli == 1500, "That is what is free without other: the resize would be Deferred."),
        (milli == 500, "That much is free beside what web has already."),
        (milli > 1000, f"{milli}m and the 1 CPU of other do not fit: Deferred."),
        (milli < 1000, "It may be more: all that other does not request."),
    )


EXERCISES = [
    Exercise(
        "limit-range",
        "Guaranteed: limits of CPU and memory, and equal requests. What is requested, if only a limit is given?",
        _limit_range,
        'answer = limit_range("team", default={"cpu": "500m", "memory": "256Mi"})',
        "Without defaultRequest the default limit is the default request too.",
    ),
    Exercise(
        "policy",
        'resizePolicy is a list of {"resourceName": ..., "restartPolicy": ...}; NotRequired is the default.',
        _policy,
        'rule = {"resourceName": "memory", "restartPolicy": "RestartContainer"}\n'
        'main = container(cpu="100m", memory="64Mi", memory_limit="128Mi") | {"resizePolicy": [rule]}\n'
        'answer = pod("java", containers=[main])',
        "A heap whose size is read at the start needs it.",
    ),
    Exercise("largest", "What is allocatable, less what other requests.", _largest, 'answer = "1"', "2 CPUs less 1."),
    Exercise(
        "allocatable",
        "The usual hard threshold of the disk is a part of it: nodefs.available<10%.",
        number(
            9,
            {10: "The hard eviction threshold is taken off.", 8.5: "15% is the threshold of imagefs."},
            otherwise="10Gi less 10%.",
        ),
        "answer = 9",
        "Allocatable is capacity less reservations less the hard threshold, as with memory.",
    ),
]
