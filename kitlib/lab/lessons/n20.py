"""Questions and exercises of notebook 20: swap, PSI, and MemoryQoS in effect."""

from __future__ import annotations

from typing import Any

from kitlib.kubelet.cm.memory_qos import memory_high
from kitlib.kubelet.cm.swap import limited_swap
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.readings import swap_parts

MI = 2**20
_NONE, _ALL, _SOME = "none of it", "all of it", "that of the two that may swap, by size"
_FULL, _FIFTHS, _THIRD = "nearly full speed", "about four fifths", "about a third"
_WAITS, _EVICTS = "nothing: most of the swap is free", "it evicts a pod"
_ONCE, _MINUTES, _KILLED = "within a second", "several minutes", "never: it is killed"


def _speed(cpus: float) -> str:
    return _FULL if cpus > 0.9 else _FIFTHS if cpus > 0.6 else _THIRD


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
    picked=lambda seen: [f"second {s}" for s, of in seen["of"].items() if of["memory"] + of["swap"] >= 290][:1],
)

QUESTIONS = [
    Question(
        "who",
        "How many of the four pods may use swap?",
        unit="pods",
        why="Only a container of a Burstable pod may use swap, and only if its limit differs from its request. "
        "Number of such pods: {observed}.",
        picture=show.places(
            "Swap that each pod may use",
            lambda seen: {
                name: show.PlaceCard([], f"{of['swap limit']} MiB", "chosen" if of["swap limit"] > 0 else "refused")
                for name, of in seen["of"].items()
            },
        ),
    ),
    Question(
        "share",
        "How many MiB of swap may the pod burst use?",
        unit="MiB",
        tolerance=0.02,
        why="A container may use the same share of the node's swap as it requests of the node's memory.",
        formula="swap limit = request / node memory * node swap = 256 / 2048 * 1024",
        picture=show.amounts(
            "Swap that each pod may use",
            lambda seen: {name: of["swap limit"] for name, of in seen["of"].items()},
            unit="MiB",
            picked=["burst"],
        ),
    ),
    Question(
        "killed",
        "The pod burst allocates more and more. How many MiB of memory and swap does it use when the kernel kills it?",
        unit="MiB",
        tolerance=0.06,
        why="The limit of 300 MiB applies to memory only; 128 MiB more fit in swap. The highest value measured "
        "before the kill was {observed} MiB.",
        picture=show.amounts(
            "burst, just before it is killed",
            lambda seen: {
                "in memory": seen["of"][max(seen["of"])]["memory"],
                "in swap": seen["of"][max(seen["of"])]["swap"],
                "together": seen.observed,
            },
            unit="MiB",
            bounds=[("limit", 300)],
            picked=["together"],
        ),
    ),
    Question(
        "v1",
        "How many MiB of swap may the pod burst use on cgroup v1?",
        unit="MiB",
        why="LimitedSwap requires cgroup v2. On v1 the kubelet limits memory and swap together to the memory limit.",
        picture=show.amounts(
            "Swap that burst may use",
            lambda seen: {"cgroup v1": seen.observed, "cgroup v2": seen["of"]},
            unit="MiB",
            picked=["cgroup v1"],
        ),
    ),
    Question(
        "slow",
        "A fifth of the memory that the pod busy needs is in swap. How fast does the pod work?",
        choices=[_FULL, _FIFTHS, _THIRD],
        answer_of=_speed,
        why="The pod busy uses {observed} of 1 CPU, because the reads of swap from the disk take twice as "
        "long as the other work.",
        picture=show.amounts(
            "CPU time of the three pods",
            lambda seen: seen["of"],
            unit="CPUs",
            bounds=[("full speed", 1)],
            picked=["busy"],
        ),
    ),
    Question(
        "psi",
        "After a minute, what is the value avg10 in memory.pressure of the pod busy, in percent?",
        unit="%",
        tolerance=0.15,
        why="avg10 is the share of time in which the pod busy waits for memory and does not work. In this "
        "time the node's CPU appears idle.",
        picture=show.amounts(
            "Time in which each pod waits for memory", lambda seen: seen["of"], unit="%", picked=["busy"]
        ),
    ),
    Question(
        "whose",
        "The node has no free memory. Which memory of the pods fixed, idle and grows does the kernel move to swap?",
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
        why="The signal memory.available does not include swap. The kubelet evicted {observed}.",
        picture=show.fates("What became of each pod"),
    ),
    Question(
        "high",
        "memory.high is 200 MiB. How long does the pod slow take to allocate 290 MiB?",
        choices=[_ONCE, "within a minute", _MINUTES, _KILLED],
        answer_of=_wait,
        why="The pod slow must sleep after every 64 pages. The more the pod exceeds memory.high, the "
        "longer it sleeps. The allocation took {observed} seconds, without a restart.",
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


def _stays(cluster: Any, _: Any) -> str:
    if not any(one.name == "cache" for one in cluster.pods()):
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


EXERCISES = [
    Exercise(
        "limited",
        "Which share of the node's memory does the container request?",
        number(
            lambda: limited_swap(3 * 1024 * MI, 48 * 1024 * MI, 16 * 1024 * MI) / MI,
            {
                3072: "The container's 3072 MiB is its request. The swap depends on the share of the node's memory.",
                16384: "16384 MiB is all the swap of the node.",
                2048: "The limit does not matter: use the request of the container.",
                1: "Give the answer in MiB.",
            },
            otherwise="Compute request / node memory × node swap.",
        ),
        "answer = 3 * 1024 / (48 * 1024) * 16 * 1024",
        "A request of a sixteenth of the memory gives a sixteenth of the swap.",
    ),
    Exercise(
        "percent",
        "The value total is in microseconds. How many microseconds were added between the two looks "
        "at the file, and how many passed?",
        number(
            15,
            {
                0.15: "0.15 is the share. In percent it is a hundred times as much.",
                1500000: "This is a number of microseconds. Divide it by ten seconds.",
                1.5: "10 s are 10 000 000 µs.",
                35: "Use only the increase between the two looks at the file.",
            },
            otherwise="Divide (3500000 − 2000000) µs by 10 s.",
        ),
        "answer = (3_500_000 - 2_000_000) / 10_000_000 * 100",
        "Prometheus' rate() computes the same from cAdvisor's counters.",
    ),
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
