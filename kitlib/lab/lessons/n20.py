"""Questions and exercises of notebook 20: swap and pressure."""

from __future__ import annotations

from kitlib.kubelet.cm.swap import limited_swap
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, number

MI = 2**20
_FULL, _FIFTHS, _THIRD = "nearly full speed", "about four fifths", "about a third"


def _speed(cpus: float) -> str:
    return _FULL if cpus > 0.9 else _FIFTHS if cpus > 0.6 else _THIRD


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
        why="The pod busy uses {observed} of 1 CPU, because it waits for pages in swap: the disk takes twice "
        "as long to read them as the CPU takes for the work.",
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
]

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
]
