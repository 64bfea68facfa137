"""Questions and exercises of notebook 07, QoS-level cgroups and qos-reserved."""

from __future__ import annotations

from typing import Any

from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.qos_container_manager import qos_requests
from kitlib.kubelet.loop.housekeeping import QOS_EVERY
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number
from kitlib.lab.readings import file_names


def _short(path: str) -> str:
    """Return the name of a child of kubepods, with a pod's UID cut."""
    name = path.removeprefix("/kubepods/")
    return name if len(name) <= 12 else f"{name[:11]}…"


QUESTIONS = [
    Question(
        "after",
        "All three pods run. How much CPU, in milli-CPU, does the value in the QoS cgroup burstable represent?",
        unit="milli-CPU",
        tolerance=0.03,
        why="The kubelet adds up only the requests of Burstable pods: 300m and 700m. The file {file} contains {value}.",
        picture=show.amounts(
            "CPU requests",
            lambda seen: (
                {
                    one["metadata"]["name"]: Quantity.parse(
                        one["spec"]["containers"][0]["resources"]["requests"]["cpu"]
                    ).milli_value()
                    for one in seen["of"]
                }
                | {"burstable": seen.observed}
            ),
            unit="milli-CPU",
            picked=["burstable"],
            notes={"sure": "Guaranteed"},
        ),
    ),
    Question(
        "best",
        "How many CPU shares does the cgroup besteffort have while no BestEffort pod exists?",
        choices=["nothing: the cgroup is made with the first pod", "the minimum", "what the others leave"],
        answer_of=lambda value: "the minimum" if value in (1, 2) else "what the others leave",
        why="The kubelet creates both QoS-level cgroups when it starts. The cgroup besteffort always has "
        "2 shares, or weight 1 on v2.",
        picture=show.parts(
            "The weights of the two classes: besteffort keeps its own",
            lambda seen: seen["steps"],
            picked=["besteffort"],
        ),
    ),
    Question(
        "listing",
        "How many CPU shares does the cgroup burstable have on the node of the article?",
        unit="shares",
        why="The shares correspond to the sum of the Burstable requests. The shares 204 and 102 "
        "correspond to 200m and 100m, truncated.",
        formula="11095 × 1024 / 1000 = 11361",
        picture=show.amounts(
            "cpu.shares below kubepods",
            lambda seen: {_short(path): shares for path, shares in seen["of"].items()},
            unit="shares",
            picked=["burstable"],
        ),
    ),
    Question(
        "burstable",
        "Which memory limit, in millions of bytes, does the cgroup besteffort have after the "
        "Guaranteed and the Burstable pod have started?",
        unit="M",
        tolerance=0.001,
        why="The limit is 1000 − 100 − 200. The kernel stores limits in pages, so the limit can be slightly smaller.",
        picture=show.amounts("Limits of memory", lambda seen: seen["of"], unit="M", picked=["besteffort"]),
    ),
    Question(
        "half",
        "Which memory limit does the cgroup besteffort have with P = 50?",
        unit="M",
        tolerance=0.001,
        why="The limit is 1000 − 50 − 100, because the kubelet reserves half of each request.",
        picture=show.amounts("Limits of memory", lambda seen: seen["of"], unit="M", picked=["besteffort"]),
    ),
    Question(
        "in-use",
        "What does the kubelet do when it cannot write the memory limit of the cgroup besteffort?",
        choices=["it leaves the class unlimited", "it writes what is in use", "it evicts the pod"],
        answer_of=lambda row: (
            "it writes what is in use"
            if abs(row["in use (M)"] - row["limit of besteffort (M)"]) < 1
            else "it leaves the class unlimited"
        ),
        why="With the memory in use as its limit, the class cannot use more memory. A minute later the "
        "kubelet tries the computed limit again.",
        picture=show.amounts(
            "besteffort, when the pods come", lambda seen: seen.observed, unit="M", picked=["limit of besteffort (M)"]
        ),
    ),
    Question(
        "rewritten",
        "Another program sets the CPU weight of burstable to 5. How many values differ from the "
        "desired cgroup tree after 90 s?",
        unit="values",
        why="The kubelet writes the QoS-level cgroups every minute, even if nothing has changed.",
        picture=show.steps(
            "A changed weight",
            lambda seen: {
                "": [
                    ("administrator", "writes 5"),
                    (f"kubelet, every {QOS_EVERY:g} s", "compares and writes again"),
                    ("burstable", f"{seen.observed} values differ", "now" if not seen.observed else "stops"),
                ]
            },
        ),
    ),
]


def _exactly(answer: Any, cluster: Any) -> str:
    asked = qos_requests(cluster.pods()).burstable_cpu
    file = file_names(cluster.node()).cpu_weight
    return first_problem(
        (asked != 1500, f"The Burstable pods request {asked}m together: add or delete pods."),
        (int(answer) != int(cluster.node().read("/kubepods/burstable", file)), f"Read {file} of /kubepods/burstable."),
    )


EXERCISES = [
    Exercise(
        "no-memory",
        "Look at the two formulas of qos-reserved: which requests do they subtract?",
        choice(
            "none",
            {
                "besteffort": "The kubelet subtracts only memory requests.",
                "both": "The kubelet subtracts only memory requests.",
            },
            otherwise='"none", "besteffort" or "both"?',
        ),
        'answer = "none"',
    ),
    Exercise(
        "allocatable",
        "Allocatable here means the limit of kubepods: capacity minus reservations, without the eviction threshold.",
        number(
            700,
            {
                800: "The kubelet also subtracts the reservation for the system.",
                600: "Does the kubelet subtract the eviction threshold here?",
            },
            otherwise="Compute 1000 − 100 − 200.",
        ),
        "answer = 700",
    ),
    Exercise(
        "left",
        "The limit of burstable is allocatable minus the requests of Guaranteed pods.",
        number(10, {0: "A small amount is left: 1000 − 990."}, otherwise="Compute 1000 − 990."),
        "answer = 10",
        "The kernel kills processes of Burstable pods that need more memory, even if no pod uses the 990M.",
    ),
    Exercise(
        "exactly",
        "The pod large requests 700m. Which request do you have to add to reach 1500m?",
        _exactly,
        """
cluster.apply(pod("more", cpu="800m"))
cluster.advance(2)
answer = node.read("/kubepods/burstable", file)
""",
        "The kubelet updates the QoS-level cgroup before it creates the new pod's cgroup.",
    ),
]
