"""Questions and exercises of notebook 25, what older articles say."""

from __future__ import annotations

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, number

QUESTIONS = [
    Question(
        "kmem",
        "On a recent kernel with cgroup v1, you write 10M to memory.kmem.limit_in_bytes. Which value does the "
        "file show afterwards?",
        choices=["10485760", "no limit: the write is ignored", "no limit: the write is refused"],
        answer_of=lambda said: (
            "no limit: the write is refused"
            if said[0] != "accepted"
            else "10485760"
            if said[1] == "10485760"
            else "no limit: the write is ignored"
        ),
        why="Since Linux 6.6 a write to this file has no effect: memory.limit_in_bytes includes kernel memory.",
        picture=show.steps(
            "A write to memory.kmem.limit_in_bytes",
            lambda seen: {
                "": [
                    ("administrator", "writes 10M"),
                    (
                        "kernel",
                        seen.observed[0].partition(":")[0],
                        "done" if seen.observed[0] == "accepted" else "stops",
                    ),
                    ("the file", f"shows {seen.observed[1]}", "now"),
                ]
            },
        ),
    ),
    Question(
        "pids",
        "Into which cgroups does the kubelet write the limit of processes?",
        choices=["into the pod's cgroup", "into each container's cgroup", "into both"],
        answer_of=lambda where: (
            "into the pod's cgroup"
            if where == ["pod"]
            else "into both"
            if "pod" in where
            else "into each container's cgroup"
        ),
        why="podPidsLimit applies to the pod as a whole: all of its containers share the 100 processes.",
        picture=show.nested(
            "Cgroups with a limit of processes",
            lambda seen: [
                (name, "pids.max" if where in seen.observed else "no limit")
                for where, name in (("pod", "the pod web"), ("a", "the container a"))
            ],
            picked=lambda seen: [place for place, where in enumerate(("pod", "a")) if where in seen.observed],
        ),
    ),
    Question(
        "huge",
        "Which limit of huge pages does the cgroup of the pod web have, in MiB?",
        unit="MiB",
        answer_of=lambda files: (
            next(float(value) for name, value in files.items() if name.startswith("hugetlb.")) / 2**20
        ),
        why="The kubelet writes the limit 0 for each page size that the pod does not request, so the pod cannot use "
        "pages that other pods requested.",
        picture=show.amounts(
            "Huge pages of the pod",
            lambda seen: {
                name: float(value) / 2**20 for name, value in seen.observed.items() if name.startswith("hugetlb.")
            },
            unit="MiB",
            bounds=lambda seen: [
                ("of the node", seen.cluster.nodes[0].status.capacity["hugepages-2Mi"].value() / 2**20)
            ],
        ),
    ),
    Question(
        "run-all",
        "With runAllFilters, how many reasons would the event's message list for the node closed?",
        unit="reasons",
        why="The node named closed is cordoned and too small, and its label matches. The option "
        "runAllFilters made every cycle slower.",
        picture=show.steps(
            "The node closed, with every filter",
            lambda seen: {"": [(f"reason {place}", reason, "stops") for place, reason in enumerate(seen["of"], 1)]},
        ),
    ),
    Question(
        "place",
        "Three of five nodes are cordoned. When does the scheduler of 1.36 call Mine?",
        choices=[
            "before the default filters, for all five nodes",
            "after the default filters, for the two other nodes",
        ],
        answer_of=lambda nodes: (
            "before the default filters, for all five nodes"
            if len(nodes) == 5
            else "after the default filters, for the two other nodes"
        ),
        why="Plugins that a profile names at one extension point run after those that are enabled for all points. A "
        "node that NodeUnschedulable rejects never reaches Mine.",
        picture=show.places(
            "Nodes for which Mine is called",
            lambda seen: {node: show.PlaceCard([], "called", "chosen") for node in seen.observed},
        ),
    ),
    Question(
        "rounded",
        "Do the scores of the nodes differ between releases 1.23 and 1.24?",
        choices=["yes, by rounding", "no"],
        answer_of=lambda differ: "yes, by rounding" if differ else "no",
        why="The scheduler multiplies counts by a logarithm of the number of domains. Release 1.23 "
        "truncates the product, and release 1.24 rounds it.",
        picture=show.amounts(
            "Points of PodTopologySpread",
            lambda seen: {
                f"{release} {node}": points for release, of in seen["of"].items() for node, points in of.items()
            },
            unit="points",
        ),
    ),
    Question(
        "double",
        "Does the pod web fit on n1 if the scheduler also counts the nomination of the pod vip?",
        choices=["yes", "no: vip is counted twice"],
        answer_of=lambda host: "yes" if host else "no: vip is counted twice",
        why="The scheduler adds 1 CPU for the running pod vip and 1 CPU for its nomination, so web does not fit.",
        picture=show.outcomes(
            "web on n1",
            lambda seen: {
                "vip counted once": (seen["once"] or "does not fit", bool(seen["once"])),
                "vip counted twice": (seen.observed or "does not fit", bool(seen.observed)),
            },
        ),
    ),
    Question(
        "flushes",
        "How many times as many scheduling cycles do these pods cause in 1.23 as in 1.24?",
        unit="times",
        tolerance=0.1,
        why="The scheduler looks for old pods every 30 seconds. So a pod of 1.23 waits 60 to 90 seconds, and a pod of "
        "1.24 waits 300 to 330 seconds. Each of these cycles is in vain.",
        picture=show.amounts(
            "Scheduling cycles, 1.24 = 1",
            lambda seen: {"release 1.24": 1, "release 1.23": seen.observed},
            unit="times",
            picked=["release 1.23"],
        ),
    ),
]

EXERCISES = [
    Exercise(
        "processes",
        "The limit is in the file pids.max of the pod's cgroup.",
        number(
            40,
            {100: "That is the limit of the pod as a whole.", 50: "The kubelet does not divide the limit."},
            otherwise="Subtract the processes of container a.",
        ),
        "answer = 40",
        "The containers of a pod share its limit.",
    ),
    Exercise(
        "minutes",
        "The question about the flush names the present default.",
        number(
            5,
            {1: "That was the period until 1.23.", 10: "That is the longest back-off, in seconds."},
            otherwise="The default is five minutes.",
            tolerance=0.15,
        ),
        "answer = 5",
        "An event makes the scheduler try the pod earlier.",
    ),
]
