"""Questions and exercises of notebook 20: swap, PSI, and MemoryQoS in effect."""

from __future__ import annotations

from typing import Any

from kitlib.kubelet.cm.memory_qos import memory_high
from kitlib.kubelet.cm.swap import limited_swap
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


QUESTIONS = [
    Question(
        "who",
        "How many of the four may use swap at all?",
        unit="pods",
        why="Only a Burstable pod, and of it only containers whose limit is not their request: {observed}.",
    ),
    Question(
        "share",
        "How many MiB of swap may burst use?",
        unit="MiB",
        tolerance=0.02,
        why="Its part of the node's memory is its part of the swap.",
        formula="swap limit = request / node memory * node swap = 256 / 2048 * 1024",
    ),
    Question(
        "killed",
        "burst grows and grows. At how many MiB, memory and swap together, is it killed?",
        unit="MiB",
        tolerance=0.06,
        why="Its limit counts memory only, 300 MiB; swap holds 128 more. {observed} was the last look before the end.",
    ),
    Question(
        "v1",
        "The same pod on cgroup v1: how many MiB of swap may it use?",
        unit="MiB",
        why="LimitedSwap is for cgroup v2. On v1 the kubelet limits memory and swap together to the memory limit.",
    ),
    Question(
        "slow",
        "A fifth of what busy needs is in swap. How fast does it work?",
        choices=[_FULL, _FIFTHS, _THIRD],
        answer_of=_speed,
        why="It gets {observed} CPUs of 1: the fifth that comes from the disk takes twice as long as all the rest.",
    ),
    Question(
        "psi",
        "After a minute: what does avg10 of its memory.pressure say, in percent?",
        unit="%",
        tolerance=0.15,
        why="The part of the time that it waits, and so does not work. The node's CPU looks idle meanwhile.",
    ),
    Question(
        "whose",
        "The node's memory is used up. Of the pods fixed, idle and grows: whose memory goes to swap?",
        choices=[_NONE, _ALL, _SOME],
        answer_of=_whose,
        why="memory.swap.max is 0 for fixed, a Guaranteed pod: its pages stay where they are.",
    ),
    Question(
        "evicted",
        "What does the kubelet do then?",
        choices=[_WAITS, _EVICTS],
        answer_of=lambda pods: _EVICTS if pods else _WAITS,
        why="memory.available knows nothing of swap: evicted were {observed}.",
    ),
    Question(
        "high",
        "memory.high is 200 MiB. How long does slow take to get its 290?",
        choices=[_ONCE, "within a minute", _MINUTES, _KILLED],
        answer_of=_wait,
        why="It sleeps after every 64 pages, the longer the further it is above: {observed} seconds, and no restart.",
    ),
    Question(
        "high-swap",
        "And on the node with swap?",
        choices=[_ONCE, "within a minute", _MINUTES, _KILLED],
        answer_of=_wait,
        why="What lies above memory.high goes to swap, so nobody has to sleep: {observed} s.",
    ),
]


def _stays(cluster: Any, _: Any) -> str:
    if not any(one.name == "cache" for one in cluster.pods()):
        return "There is no pod cache."
    found = cluster.pod("cache")
    if not found.status.container_statuses:
        return "It does not run: look at its events."
    parts = swap_parts(cluster, "cache")
    machine = cluster.node().config
    return first_problem(
        (not machine.machine.swap, "The node has no swap, so nothing is shown by it: take the nodes of the notebook."),
        (machine.settings.memory_swap_behavior != "LimitedSwap", "Leave the node as it is: LimitedSwap."),
        ((parts["memory"] or 0) < 100, "It keeps 100 MiB: uses='memory=100Mi', and let time pass."),
        (found.status.qos_class == "BestEffort", "It has to request memory, or it is the first to be evicted."),
        (parts["swap limit"] != 0, f"It may still swap {parts['swap limit']} MiB: compare its request and its limit."),
    )


EXERCISES = [
    Exercise(
        "limited",
        "Which part of the node's memory does it request?",
        number(
            lambda: limited_swap(3 * 1024 * MI, 48 * 1024 * MI, 16 * 1024 * MI) / MI,
            {
                3072: "That is its request: swap is given by its part of the node.",
                16384: "That is all the swap there is.",
                2048: "The limit does not count, the request does.",
                1: "In MiB, please.",
            },
            otherwise="request / node memory × node swap.",
        ),
        "answer = 3 * 1024 / (48 * 1024) * 16 * 1024",
        "A sixteenth of the memory, a sixteenth of the swap.",
    ),
    Exercise(
        "percent",
        "total is in microseconds: how many of them between the two looks, of how many?",
        number(
            15,
            {
                0.15: "In percent, please.",
                1500000: "Those are microseconds: of ten seconds.",
                1.5: "10 s are 10 000 000 µs.",
                35: "Only what was added between the two looks.",
            },
            otherwise="(3500000 − 2000000) µs of 10 s.",
        ),
        "answer = (3_500_000 - 2_000_000) / 10_000_000 * 100",
        "That is what Prometheus' rate() makes of cAdvisor's counters.",
    ),
    Exercise(
        "line",
        "memory.high lies between request and limit; the factor says how far.",
        number(
            lambda: memory_high(256 * MI, 1024 * MI, 0.5, 0, 4096) / MI,
            {
                512: "Half of the limit; but it begins at the request.",
                384: "Half of the way to the limit, counted from the request, not half of the request more.",
                768: "That is the way itself: limit − request.",
            },
            otherwise="request + factor × (limit − request).",
        ),
        "answer = 256 + 0.5 * (1024 - 256)",
        "At 0.9, the default, it would be 947: nearly at the limit.",
    ),
    Exercise(
        "stays",
        "The node stays as it is. Which containers of a Burstable pod may not swap, and which pods may not at all?",
        _stays,
        """
answer = lesson.simulated("a node with swap", SWAPPING)
answer.apply(pod("cache", memory="120Mi", memory_limit="120Mi", uses="memory=100Mi"))
answer.advance(5)
""",
        "Request equal to limit is enough; a Guaranteed pod, or a critical one, does it as well.",
    ),
]
