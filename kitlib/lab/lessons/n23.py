"""Questions and exercises of notebook 23, devices."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab.devices import allocated, claims, device, device_class, device_slice
from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number
from kitlib.lab.manifests import pod

SCHEDULER, KUBELET = "the scheduler", "the kubelet of the node"
PENDING = "nowhere: it waits"
GONE_FREE = "the former are gone, the latter is there and free"

QUESTIONS = [
    Question(
        "template",
        "How many of the 3 pods run, each with a claim of its own?",
        unit="pods",
        why="Three claims, two devices: one claim stays without an allocation, and its pod waits.",
    ),
    Question(
        "shared",
        "And how many with one claim for all?",
        unit="pods",
        why="A claim may be reserved for many pods: they share the device.",
    ),
    Question(
        "together",
        "Where do they run?",
        choices=["spread over both nodes", "all on the same node"],
        answer_of=lambda nodes: "all on the same node" if len(nodes) == 1 else "spread over both nodes",
        why="The first one decided. What a claim has been given lies on one node, and the others must follow.",
    ),
    Question(
        "decides",
        "Who decides which device a claim gets?",
        choices=[SCHEDULER, KUBELET, "the driver"],
        answer_of=lambda devices: SCHEDULER if devices else KUBELET,
        why="The claim was allocated in a cluster without any kubelet. With device plugins the kubelet picks, "
        "after the node has been decided.",
    ),
    Question(
        "first",
        "Where does first go under 1.36?",
        choices=["n1", "n2"],
        why="Both would do. Since 1.35 a node scores higher where the claim gets what it names first.",
    ),
    Question(
        "older",
        "And under 1.34?",
        choices=["n1", "n2"],
        why="Each node was asked for what it has; a worse alternative cost nothing, so the nodes were equal here.",
    ),
    Question(
        "second",
        "How many devices does second get under 1.36?",
        unit="devices",
        why="The large one is taken; its second wish is two of any size.",
    ),
    Question(
        "tainted",
        "Where does plain-2 go?",
        choices=["n1", "n2", PENDING],
        answer_of=lambda node: PENDING if node == "pending" else node,
        why="plain took the GPU of n2, and the other is tainted: no claim gets it that does not tolerate that.",
    ),
    Question(
        "tolerates",
        "Where does test go?",
        choices=["n1", "n2", PENDING],
        answer_of=lambda node: PENDING if node == "pending" else node,
        why="The toleration stands in the request of the claim, not in the pod: the pod tolerates nothing of its node.",
    ),
    Question(
        "preempts",
        "How many pods are removed for it?",
        unit="pods",
        why="A claim keeps its devices until its pods have gone, so removing a pod within a dry run frees none.",
    ),
    Question(
        "left",
        "What becomes of the claims?",
        choices=["all are gone", GONE_FREE, "all are there and keep their devices"],
        answer_of=lambda both: GONE_FREE if not both[0] and both[1] == {"all": ""} else "all are gone",
        why="A pod owns the claim from its template, and nobody owns the other one; its allocation is taken back when "
        "no pod uses it.",
    ),
]


def _cluster() -> Any:
    nodes = [{"name": name, "cpus": 4} for name in ("n1", "n2")]
    made = Cluster.simulated(nodes, kubelets=False)
    slices = [device_slice("n1", device("gpu-0"), device("gpu-1")), device_slice("n2", device("gpu-0", "80Gi"))]
    made.apply([device_class(), *slices])
    return made


def _claim(answer: Any, _: Any) -> str:
    """Judge a claim by its allocation on a cluster, which must be the large device."""
    with _cluster() as cluster:
        try:
            (made,) = cluster.apply(dict(answer))
        except KitError as error:
            return f"It is refused: {str(error).splitlines()[0]}"
        if made.kind != "ResourceClaim":
            return "A ResourceClaim is asked for: resource_claim(...)."
        cluster.apply(pod("user", resourceClaims=claims(made.name)))
        cluster.advance(5)
        got = allocated(cluster)[made.name]
    return first_problem(
        (not got, "No device fits: the claim stays without an allocation."),
        ("n1/" in got, f"It got {got}: nothing in the claim says how large the device must be."),
        (got.count("/") > 1, "It asks for more than one device."),
    )


def _list(answer: Any, _: Any) -> str:
    """Judge a claim with two pods: the first must get the pair, the second the large device."""
    with _cluster() as cluster:
        try:
            (made,) = cluster.apply(dict(answer))
        except KitError as error:
            return f"It is refused: {str(error).splitlines()[0]}"
        if made.kind != "ResourceClaimTemplate":
            return "A template is asked for: claim_template(...)."
        got = []
        for name in ("one", "two"):
            cluster.apply(pod(name, resourceClaims=claims(template=made.name)))
            cluster.advance(5)
            got.append(next(of for claim, of in allocated(cluster).items() if claim.startswith(f"{name}-")))
    return first_problem(
        (not got[0], "The first pod gets nothing."),
        (got[0].count("/") != 2, f"The first pod gets {got[0]}: the pair has to be named first."),
        (not got[1], "The second pod gets nothing, though the large one is free."),
        (got[1] != "n2/gpu-0", f"The second pod gets {got[1]}."),
    )


def _plugin() -> str:
    with _cluster() as cluster:
        cluster.apply(pod("big", cpu="8"))
        cluster.advance(5)
        return str(cluster.decision("big").unschedulable_plugins[0])


EXERCISES = [
    Exercise(
        "claim",
        "A request can say how much memory each device has at least.",
        _claim,
        'answer = resource_claim("mine", device_request("gpu", memory="40Gi"))',
        "The selector compares a capacity of the device: quantities are compared with compareTo.",
    ),
    Exercise(
        "list",
        "The list is in order of preference; each entry is a request with a name of its own.",
        _list,
        'pair, large = device_request("pair", count=2), device_request("large", memory="40Gi")\n'
        'answer = claim_template("pair", [pair, large])',
        "What is named first is tried first on each node, and preferred among nodes.",
    ),
    Exercise(
        "three",
        "Can a claim have devices of two nodes?",
        number(
            0,
            {
                2: "8 devices would be enough, but a claim's devices must be on the pod's node.",
                4: "A node has only two.",
            },
            otherwise="A node has two devices, and all of a claim's must be on one node.",
        ),
        "answer = 0",
        "The devices of a ResourceSlice belong to a node, and so does the allocation.",
    ),
    Exercise(
        "plugin",
        "CPU is no device.",
        choice(
            _plugin,
            {"DynamicResources": "It is asked about claims only; CPU is not claimed."},
            otherwise="One of the two names.",
        ),
        'answer = "NodeResourcesFit"',
        "The event lists each plugin's answer for each node; the first refusal of a node counts.",
    ),
]
