"""Questions and exercises of notebook 23b, alternatives and broken devices."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import pictures as show
from kitlib.lab.devices import allocated, claims, device, device_class, device_slice
from kitlib.lab.exercise import Exercise, Question, first_problem
from kitlib.lab.manifests import pod

PENDING = "nowhere: it waits"


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
            return f"The API server refused it: {str(error).splitlines()[0]}"
        if made.kind != "ResourceClaim":
            return "A ResourceClaim is asked for: resource_claim(...)."
        cluster.apply(pod("user", resourceClaims=claims(made.name)))
        cluster.advance(5)
        got = allocated(cluster)[made.name]
    return first_problem(
        (not got, "No device fits: the claim has no allocation."),
        ("n1/" in got, f"The claim got {got}: the claim does not specify how large the device must be."),
        (got.count("/") > 1, "The claim requests more than one device."),
    )


def _list(answer: Any, _: Any) -> str:
    """Judge a claim with two pods: the first must get the pair, the second the large device."""
    with _cluster() as cluster:
        try:
            (made,) = cluster.apply(dict(answer))
        except KitError as error:
            return f"The API server refused it: {str(error).splitlines()[0]}"
        if made.kind != "ResourceClaimTemplate":
            return "A template is asked for: claim_template(...)."
        got = []
        for name in ("one", "two"):
            cluster.apply(pod(name, resourceClaims=claims(template=made.name)))
            cluster.advance(5)
            got.append(next(of for claim, of in allocated(cluster).items() if claim.startswith(f"{name}-")))
    return first_problem(
        (not got[0], "The first pod gets nothing."),
        (got[0].count("/") != 2, f"The first pod gets {got[0]}: the pair must be named first."),
        (not got[1], "The second pod gets nothing, although the large GPU is free."),
        (got[1] != "n2/gpu-0", f"The second pod gets {got[1]}."),
    )


QUESTIONS = [
    Question(
        "first",
        "In release 1.36, which node does the scheduler select for the pod named first?",
        choices=["n1", "n2"],
        why="The pod fits on both nodes. Since 1.35 a node has a higher score if the claim gets its first "
        "alternative there.",
        picture=show.placed(
            "Release 1.36",
            lambda seen: seen["of"],
            chosen=lambda seen: seen.observed,
            words={"n1": "2 GPUs", "n2": "1 GPU of 80Gi"},
        ),
    ),
    Question(
        "older",
        "In release 1.34, which node does the scheduler select for the pod named first?",
        choices=["n1", "n2"],
        why="In 1.34 a worse alternative does not lower the score of a node, so both nodes have the same score here.",
        picture=show.placed(
            "Release 1.34",
            lambda seen: seen["of"],
            chosen=lambda seen: seen.observed,
            words={"n1": "2 GPUs", "n2": "1 GPU of 80Gi"},
        ),
    ),
    Question(
        "second",
        "In release 1.36, how many devices does the pod named second get?",
        unit="devices",
        why="The large GPU is in use, and the second alternative requests two GPUs of any size.",
        picture=show.amounts(
            "Devices of each pod",
            lambda seen: {pod: devices.count("gpu") for pod, devices in seen["of"].items()},
            unit="devices",
            picked=["second"],
        ),
    ),
    Question(
        "tainted",
        "On which node does the pod plain-2 run?",
        choices=["n1", "n2", PENDING],
        answer_of=lambda node: PENDING if node == "pending" else node,
        why="The pod plain uses the GPU of n2, and the other GPU has a taint. Only a claim that tolerates "
        "the taint can get the other GPU.",
        picture=show.placed("A tainted GPU on n1", words={"n1": "GPU with a taint", "n2": "GPU"}),
    ),
    Question(
        "tolerates",
        "On which node does the pod named test run?",
        choices=["n1", "n2", PENDING],
        answer_of=lambda node: PENDING if node == "pending" else node,
        why="The toleration is in the request of the claim, not in the pod. It applies to a taint of the "
        "device, not to a taint of the node.",
    ),
]

EXERCISES = [
    Exercise(
        "claim",
        "A request can specify the minimum memory of each device.",
        _claim,
        'answer = resource_claim("mine", device_request("gpu", memory="40Gi"))',
        "The selector compares a capacity of the device. compareTo compares quantities.",
    ),
    Exercise(
        "list",
        "The list is in order of preference; each entry is a request with its own name.",
        _list,
        'pair, large = device_request("pair", count=2), device_request("large", memory="40Gi")\n'
        'answer = claim_template("pair", [pair, large])',
        "On each node the scheduler tries the first request first. It prefers nodes on which this request is possible.",
    ),
]
