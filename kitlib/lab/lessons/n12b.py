"""Questions and exercises of notebook 12b, what the scheduler counts."""

from __future__ import annotations

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, number

_FITS = {
    (True, True): "both",
    (True, False): "only may-use-8",
    (False, True): "only asks-3",
    (False, False): "neither",
}


def _changed(same: tuple[bool, bool]) -> str:
    scores, node = same
    if node:
        return "nothing" if scores else "the scores only"
    return "the scores and the node"


QUESTIONS = [
    Question(
        "limits",
        "Which of the two pods, may-use-8 and asks-3, fit on the node?",
        choices=list(_FITS.values()),
        answer_of=lambda fits: _FITS[fits],
        why="The scheduler ignores limits and usage: 2 of 4 CPUs are requested, so 2 CPUs are left.",
        picture=show.outcomes(
            "Which pod fits into 2 free CPUs",
            lambda seen: {
                pod: ("fits" if fits else "does not fit", fits)
                for pod, fits in zip(("may-use-8", "asks-3"), seen.observed, strict=True)
            },
        ),
    ),
    Question(
        "overhead",
        "A pod requests 1 CPU and its runtime class has an overhead of 250m. Does the scheduler place the pod?",
        choices=["yes: overhead is not a request", "no: overhead is added to its request"],
        answer_of=lambda hosts: (
            "yes: overhead is not a request" if hosts[1] else "no: overhead is added to its request"
        ),
        why="Without the overhead the pod would fit. The scheduler adds the overhead of 250m to the "
        "request (stable since 1.24). The effective request also includes init containers and "
        "sidecars.",
        picture=show.amounts(
            "CPU that the scheduler counts",
            {"without overhead": 1000, "with overhead": 1250},
            unit="m",
            bounds=[("allocatable", 1000)],
            crossed=lambda seen: {
                name: "too large"
                for name, node in zip(("without overhead", "with overhead"), seen.observed, strict=True)
                if not node
            },
        ),
    ),
    Question(
        "neighbour",
        "The affinity term of the pod web has no namespaceSelector. Where does the scheduler place web?",
        choices=["on n2, beside db", "nowhere: it stays pending", "on any node: the term has no effect"],
        answer_of=lambda hosts: "on n2, beside db" if hosts[0] else "nowhere: it stays pending",
        why="Without namespaces and namespaceSelector a term selects pods of the pod's own namespace only, and db is "
        "in another one. With the selector team=shop the scheduler places web on n2.",
        picture=show.outcomes(
            "Where web goes",
            lambda seen: {
                case: (node or "stays pending", bool(node))
                for case, node in zip(("without selector", "with namespaceSelector"), seen.observed, strict=True)
            },
        ),
    ),
    Question(
        "prefilter",
        "A cluster has 200 nodes; the pod may run on node-7 only. How many nodes do the filter plugins evaluate "
        "in 1.24?",
        choices=["all 200", "1"],
        answer_of=lambda asked: "1" if asked["1.24"] * 20 < asked["1.23"] else "all 200",
        why="Since 1.24 a PreFilter plugin can restrict the candidate nodes (PreFilterResult), and "
        "NodeAffinity does so. Release 1.23 evaluated all nodes.",
        picture=show.amounts(
            "Questions to filter plugins about nodes",
            lambda seen: {f"release {release}": asked for release, asked in seen.observed.items()},
            picked=["release 1.24"],
        ),
    ),
    Question(
        "extender",
        "How many node names does the scheduler send to the extender?",
        unit="nodes",
        answer_of=len,
        why="The extender gets only the nodes that the plugins accept. It cannot add a node.",
        picture=show.places(
            "Nodes that the extender gets",
            lambda seen: {
                node["name"]: show.PlaceCard([], "sent", "chosen")
                if node["name"] in seen.observed
                else show.PlaceCard([], "rejected before", "refused")
                for node in seen["of"]
            },
        ),
    ),
    Question(
        "busy",
        "While the pod c uses the CPU, the scheduler decides about the pod web again. What differs "
        "from the first decision?",
        choices=["nothing", "the scores only", "the scores and the node"],
        answer_of=_changed,
        why="The node named full is nearly idle but has no room. The node named lopsided is busy but has "
        "room. The scheduler counts only requests.",
        picture=show.outcomes(
            "While c uses the CPU",
            lambda seen: {
                what: ("equal" if same else "different", same)
                for what, same in zip(("scores of the nodes", "best node"), seen.observed, strict=True)
            },
        ),
    ),
]

EXERCISES = [
    Exercise(
        "counts",
        "Add the overhead to the request of each pod.",
        number(
            1,
            {2: "Two requests of 450m fit, but each pod also needs its overhead."},
            otherwise="Each pod needs 450m + 100m.",
        ),
        "answer = 1",
        "Each pod counts with 550m, so the second one does not fit.",
    ),
    Exercise(
        "selector",
        "An empty selector is not the same as no selector.",
        choice(
            "all",
            {
                "none": "No selector at all leaves only the pod's own namespace.",
                "own": "That is the default without the field.",
            },
            otherwise="Answer all, own or none.",
        ),
        'answer = "all"',
        "An empty label selector matches every object.",
    ),
]
