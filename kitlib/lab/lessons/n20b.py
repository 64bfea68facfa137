"""Questions and exercises of notebook 20b: a full node with swap, and MemoryQoS."""

from __future__ import annotations

from typing import Any

from kitlib.kubelet.cm.memory_qos import memory_high
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.readings import swap_parts

MI = 2**20
_NONE, _ALL, _SOME = "none of it", "all of it", "that of the two that may swap, by size"
_WAITS, _EVICTS = "nothing: most of the swap is free", "it evicts a pod"
_ONCE, _MINUTES, _KILLED = "within a second", "several minutes", "never: it is killed"


def _whose(swapped: dict[str, int]) -> str:
    if not any(swapped.values()):
        return _NONE
    return _ALL if all(swapped.values()) else _SOME


def _wait(seconds: float | None) -> str:
    return _KILLED if seconds is None else _ONCE if seconds <= 2 else _MINUTES if seconds >= 120 else "within a minute"


_KEPT = show.amounts(
    "Memory and swap of slow, second by second",
    lambda seen: {f"second {second}": of["memory"] + of["swap"] for second, of in seen["of"].items()},
    unit="MiB",
    bounds=[("memory.high", 200)],
    notes=lambda seen: {
        f"second {second}": f"waits {of['avg10']:.0f}%" for second, of in seen["of"].items() if of["avg10"] >= 10
    },
    picked=lambda seen: [f"second {s}" for s, of in seen["of"].items() if of["memory"] + of["swap"] >= 290][:1],
)


def _stays(cluster: Any, _: Any) -> str:
    if not any(pod.name == "cache" for pod in cluster.pods()):
        return "There is no pod cache."
    found = cluster.pod("cache")
    if not found.status.container_statuses:
        return "The pod does not run. Look at its events."
    parts = swap_parts(cluster, "cache")
    machine = cluster.node().config
    return first_problem(
        (
            not machine.machine.swap,
            "The node has no swap, so the result proves nothing. Use the nodes of the notebook.",
        ),
        (machine.settings.memory_swap_behavior != "LimitedSwap", "Leave the node as it is, with LimitedSwap."),
        ((parts["memory"] or 0) < 100, "It keeps 100 MiB: set uses='memory=100Mi', and let time pass."),
        (
            found.status.qos_class == "BestEffort",
            "The pod has to request memory. Otherwise it is the first to be evicted.",
        ),
        (
            parts["swap limit"] != 0,
            f"The pod may still swap {parts['swap limit']} MiB. Compare its request with its limit.",
        ),
    )


QUESTIONS = [
    Question(
        "whose",
        "The node has no free memory. The pods are called fixed, idle and grows. From which of "
        "them does the kernel move memory to swap?",
        choices=[_NONE, _ALL, _SOME],
        answer_of=_whose,
        why="memory.swap.max is 0 for the Guaranteed pod fixed, so its pages remain in memory.",
        picture=show.amounts("Memory in swap", lambda seen: seen.observed, unit="MiB"),
    ),
    Question(
        "evicted",
        "What does the kubelet do while the kernel moves memory to swap?",
        choices=[_WAITS, _EVICTS],
        answer_of=lambda pods: _EVICTS if pods else _WAITS,
        why="The signal memory.available does not include swap. The kubelet evicted {names}.",
        picture=show.fates("What became of each pod"),
    ),
    Question(
        "high",
        "memory.high is 200 MiB. How long does the pod slow take to allocate 290 MiB?",
        choices=[_ONCE, "within a minute", _MINUTES, _KILLED],
        answer_of=_wait,
        why="The kernel makes the pod slow sleep after every 64 pages that it allocates. The more the "
        "pod exceeds memory.high, the longer it sleeps. The allocation took {observed} seconds, without a restart.",
        picture=_KEPT,
    ),
    Question(
        "high-swap",
        "How long does the pod slow take to allocate 290 MiB on the node with swap?",
        choices=[_ONCE, "within a minute", _MINUTES, _KILLED],
        answer_of=_wait,
        why="The kernel moves memory above memory.high to swap, so the pod slow does not sleep. The "
        "allocation took {observed} s.",
        picture=_KEPT,
    ),
]

EXERCISES = [
    Exercise(
        "line",
        "memory.high is between request and limit. The factor determines its distance from the request.",
        number(
            lambda: memory_high(256 * MI, 1024 * MI, 0.5, 0, 4096) / MI,
            {
                512: "Half of the limit is not right: the range begins at the request.",
                384: "Add half of the difference between limit and request, counted from the request.",
                768: "This is the way itself, the difference limit − request.",
            },
            otherwise="Compute request + factor × (limit − request).",
        ),
        "answer = 256 + 0.5 * (1024 - 256)",
        "With 0.9, the default, memory.high would be 947 MiB, which is nearly the limit.",
    ),
    Exercise(
        "stays",
        "Do not change the node. Which containers of a Burstable pod may not use swap, and which pods may "
        "not use it at all?",
        _stays,
        """
answer = lesson.simulated("a node with swap", SWAPPING)
answer.apply(pod("cache", memory="120Mi", memory_limit="120Mi", uses="memory=100Mi"))
answer.advance(5)
""",
        "A request equal to the limit is sufficient. A Guaranteed pod or a critical pod may not use swap either.",
    ),
]
