"""Questions and exercises of notebook 02, QoS classes and the tree."""

from __future__ import annotations

from typing import Any

from kitlib.api.defaults import set_defaults
from kitlib.api.podresources import pod_requests
from kitlib.api.serialize import from_dict
from kitlib.kubelet.qos.qos_class import compute_pod_qos
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, first_problem
from kitlib.lab.readings import file_names

CLASSES = ("Guaranteed", "Burstable", "BestEffort")

QUESTIONS = [
    Question(
        "limits-only",
        "The pod limits-only has limits for CPU and memory, and no requests. Which QoS class does the pod have?",
        choices=CLASSES,
        why="If a container has only a limit, the API server copies the limit into the request.",
        picture=show.pod("limits-only"),
    ),
    Question(
        "cpu-only",
        "The pod cpu-only has an equal request and limit for CPU, and neither for memory. Which QoS "
        "class does the pod have?",
        choices=CLASSES,
        why="Without `spec.resources`, a pod is Guaranteed only if every container has a CPU limit and a memory limit, "
        "equal to its requests.",
        picture=show.pod("cpu-only"),
    ),
    Question(
        "sidecar",
        "In the pod sidecar, the container main has requests equal to its limits, and the container "
        "logger has neither. Which QoS class does the pod have?",
        choices=CLASSES,
        why="In a Guaranteed pod every container must have limits. One container without limits makes the "
        "pod Burstable.",
        picture=show.pod("sidecar"),
    ),
    Question(
        "disk",
        "The pod named disk has a request and a limit for ephemeral storage only. Which QoS class does the pod have?",
        choices=CLASSES,
        why="The QoS class depends only on CPU and memory, and the pod named disk specifies neither.",
        picture=show.pod("disk"),
    ),
    Question(
        "init",
        "In the pod init, the container main has requests equal to its limits, and the init container "
        "requests a little CPU. Which QoS class does the pod have?",
        choices=CLASSES,
        why="The QoS class also depends on init containers, although they end before the other containers start.",
        picture=show.pod("init"),
    ),
    Question(
        "upside-down",
        "A pod requests 1 CPU and has a limit of 500m. What happens to the pod?",
        choices=["it is Burstable", "the limit is raised to the request", "it is never created"],
        answer_of=lambda names: "it is Burstable" if "upside-down" in names else "it is never created",
        why="The API server rejects a request above the limit, so this pod does not exist.",
        picture=show.admission(
            "The way of the manifest",
            "requests 1 CPU under a limit of 500m",
            refused=lambda seen: "upside-down" not in seen.observed,
        ),
    ),
    Question(
        "place",
        "The pod equal is Guaranteed. Where is the pod's cgroup?",
        choices=["directly below kubepods", "below kubepods/guaranteed", "below kubepods/burstable"],
        answer_of=lambda parent: (
            "directly below kubepods" if parent in ("/kubepods", "/kubepods.slice") else f"below {parent.strip('/')}"
        ),
        why="A QoS-level cgroup divides CPU among pods that can use more than they request. A Guaranteed "
        "pod cannot use more than it requests, so it needs no such cgroup.",
        picture=show.nested(
            "Where the pod equal is",
            lambda seen: [*show.levels(seen.observed), ("the pod equal", "Guaranteed")],
            picked=lambda seen: [len(show.levels(seen.observed))],
        ),
    ),
]


def _cheapest(answer: Any, _: Any) -> str:
    made = set_defaults(from_dict(answer))
    by_name = {c.name: c for c in made.spec.containers}
    if set(by_name) != {"main", "logger"}:
        return "The pod must have the containers main and logger, and no others."
    main, asked = by_name["main"].resources.requests, pod_requests(made)
    return first_problem(
        (
            str(main.get("cpu")) != "500m" or str(main.get("memory")) != "128Mi",
            "The container main keeps its requests and limits.",
        ),
        (
            compute_pod_qos(made) != "Guaranteed",
            "The container logger needs a limit for CPU and a limit for memory, and no other request.",
        ),
        (asked["cpu"].milli_value() > 510, "The container logger needs much less CPU: try 1m."),
        (asked["memory"].value() > 145 * 2**20, "The container logger needs much less memory: some MiB are enough."),
    )


RESIZE = "Pod QOS Class may not change"
"""Source: ValidatePodResize."""


def _refusal(answer: Any, cluster: Any) -> str:
    made = cluster.pod("equal")
    return first_problem(
        (
            str(made.spec.containers[0].resources.limits["cpu"]) != "500m",
            "The CPU limit of the pod equal has changed, but the resize must fail.",
        ),
        (RESIZE not in str(answer), "Catch the KitError of cluster.resize and answer str(error)."),
    )


def _more(answer: Any, cluster: Any) -> str:
    names = {p.name for p in cluster.pods()}
    file = file_names(cluster.node()).cpu_weight
    return first_problem(
        (not {f"more-{i}" for i in range(5)} <= names, "Some of the pods more-0 to more-4 are missing."),
        (
            cluster.pod("more-0").status.qos_class != "Burstable",
            "The pods more-0 to more-4 need a request and no limits.",
        ),
        (int(answer) != int(cluster.node().read("/kubepods/burstable", file)), f"Read {file} of /kubepods/burstable."),
    )


EXERCISES = [
    Exercise(
        "cheapest",
        "Complete the call pod('sidecar', containers=[main, container('logger', cpu_limit=…, memory_limit=…)]).",
        _cheapest,
        'answer = pod("sidecar", containers=[main, container("logger", cpu_limit="1m", memory_limit="4Mi")])',
        "The container logger adds requests of 1m and 4Mi to the pod. The kernel kills the container "
        "if it needs more than 4Mi.",
    ),
    Exercise(
        "refusal",
        "cluster.resize('equal', {'main': {'limits': {'cpu': '1'}}}) raises a KitError.",
        _refusal,
        """
try:
    cluster.resize("equal", {"main": {"limits": {"cpu": "1"}}})
except KitError as refused:
    answer = str(refused)
""",
        "A resize must not change the QoS class of a pod.",
    ),
    Exercise(
        "zero",
        "Does ComputePodQOS consider a request of zero?",
        choice(
            "BestEffort",
            {"Burstable": "ComputePodQOS considers only quantities above zero."},
            otherwise="The pod has no other request and no limit.",
        ),
        'answer = "BestEffort"',
        'ComputePodQOS skips quantities that are not above zero, so it ignores the request "0".',
    ),
    Exercise(
        "more",
        "Call cluster.apply([pod(f'more-{i}', cpu='100m') for i in range(5)]), then "
        "node.read('/kubepods/burstable', …).",
        _more,
        """
from kitlib.lab import file_names

cluster.apply([pod(f"more-{i}", cpu="100m") for i in range(5)])
cluster.advance(2)
answer = node.read("/kubepods/burstable", file_names(node).cpu_weight)
""",
        "The kubelet adds 500m to the requests of the Burstable class before it creates the cgroups of the new pods.",
    ),
]
