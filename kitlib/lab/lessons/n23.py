"""Questions and exercises of notebook 23, devices."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster
from kitlib.lab import pictures as show
from kitlib.lab.devices import device, device_class, device_slice
from kitlib.lab.exercise import Exercise, Question, choice, number
from kitlib.lab.manifests import pod

SCHEDULER, KUBELET = "the scheduler", "the kubelet of the node"
GONE_FREE = "the former are gone, the latter is there and free"


def _cluster() -> Any:
    nodes = [{"name": name, "cpus": 4} for name in ("n1", "n2")]
    made = Cluster.simulated(nodes, kubelets=False)
    slices = [device_slice("n1", device("gpu-0"), device("gpu-1")), device_slice("n2", device("gpu-0", "80Gi"))]
    made.apply([device_class(), *slices])
    return made


def _plugin() -> str:
    with _cluster() as cluster:
        cluster.apply(pod("big", cpu="8"))
        cluster.advance(5)
        return str(cluster.decision("big").unschedulable_plugins[0])


QUESTIONS = [
    Question(
        "template",
        "How many of the 3 pods run if each pod has its own claim?",
        unit="pods",
        why="Three claims compete for two devices. One claim has no allocation, so its pod waits.",
        picture=show.placed("A claim for each pod, two devices", words={"n1": "1 GPU", "n2": "1 GPU"}),
    ),
    Question(
        "shared",
        "All pods use the same claim. How many of the pods run?",
        unit="pods",
        why="A claim can be reserved for many pods, which share the device.",
    ),
    Question(
        "together",
        "On which nodes do the pods with the same claim run?",
        choices=["spread over both nodes", "all on the same node"],
        answer_of=lambda nodes: "all on the same node" if len(nodes) == 1 else "spread over both nodes",
        why="The first pod determines the node. All devices of a claim are on one node, and the other "
        "pods must run on this node.",
        picture=show.placed("One claim for all pods", words={"n1": "1 GPU", "n2": "1 GPU"}),
    ),
    Question(
        "decides",
        "Which component selects the device for a claim?",
        choices=[SCHEDULER, KUBELET, "the driver"],
        answer_of=lambda devices: SCHEDULER if devices else KUBELET,
        why="The claim is allocated even in a cluster without a kubelet. With device plugins the kubelet selects "
        "the device, after the scheduler has selected the node.",
        picture=show.steps(
            "Nodes without a kubelet",
            lambda seen: {
                "": [
                    ("scheduler", f"allocates {seen.observed}", "now"),
                    ("kubelet", "is not there", "never"),
                    ("driver", "is not there", "never"),
                ]
            },
        ),
    ),
    Question(
        "preempts",
        "How many pods does the scheduler preempt for the pod vip?",
        unit="pods",
        why="In a dry run the scheduler only simulates the removal of pods. Claims keep their devices, so "
        "the removal frees no device.",
        picture=show.placed("Pods after vip has come", words={"n1": "1 GPU", "n2": "1 GPU"}),
    ),
    Question(
        "left",
        "What happens to the claims from the template and to the claim that you wrote after all pods are deleted?",
        choices=["all are gone", GONE_FREE, "all are there and keep their devices"],
        answer_of=lambda both: GONE_FREE if not both[0] and both[1] == {"all": ""} else "all are gone",
        why="A pod owns a claim that comes from a template. The claim that you wrote has no owner; its "
        "allocation is released when no pod uses it.",
        picture=show.steps(
            "The claims after the pods are deleted",
            lambda seen: {
                origin: [
                    ("claims", f"{len(left)} left", "now"),
                    ("device", ", ".join(filter(None, left.values())) or "allocated to no claim", "done"),
                ]
                if left
                else [("claims", "none left", "stops")]
                for origin, left in zip(("from the template", "written by hand"), seen.observed, strict=True)
            },
        ),
    ),
]

EXERCISES = [
    Exercise(
        "three",
        "Can a claim have devices of two nodes?",
        number(
            0,
            {
                2: "8 devices would be sufficient, but the devices of a claim must be on the pod's node.",
                4: "A node has only two devices.",
            },
            otherwise="A node has two devices, and all devices of a claim must be on one node.",
        ),
        "answer = 0",
        "The devices of a ResourceSlice belong to a node, and so does the allocation.",
    ),
    Exercise(
        "plugin",
        "CPU is not a device.",
        choice(
            _plugin,
            {"DynamicResources": "The plugin DynamicResources decides about claims only, and CPU is not claimed."},
            otherwise="One of the two names is expected.",
        ),
        'answer = "NodeResourcesFit"',
        "For each node the event has one reason, from the first plugin that rejects it.",
    ),
]
