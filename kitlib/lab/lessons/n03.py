"""Questions and exercises of notebook 03, CPU: shares."""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, number

_LITTLE = "a few thousandths of a CPU to a few hundredths"
_EQUAL = "a quarter: everyone gets the same"


def _percent(used: Mapping[str, float]) -> dict[str, float]:
    """Return the part of each pod in percent of the CPU time that all use."""
    return {name: round(100 * cpus / (sum(used.values()) or 1)) for name, cpus in used.items()}


QUESTIONS = [
    Question(
        "abc",
        "Cgroups A and B have 1024 shares each, and cgroup C has 2048. All are always busy. What part "
        "of the CPU time does A get now?",
        unit="%",
        tolerance=0.15,
        why="The part of the CPU time that A gets is the shares of A divided by the shares of all busy "
        "cgroups. Before C starts, A gets half of the CPU time.",
        formula="1024 / (1024 + 1024 + 2048)",
        measured=True,
        picture=show.amounts(
            "Parts of the CPU while all three are busy",
            lambda seen: _percent(seen["value"]["c has come"]),
            unit="%",
            picked=["a"],
        ),
    ),
    Question(
        "alone",
        "Only cgroup A is busy; the processes of B and C sleep. What part of the CPU time does A get?",
        unit="%",
        tolerance=0.05,
        why="Shares are weights, not limits: the kernel divides CPU time only among busy cgroups.",
        measured=True,
        picture=show.amounts(
            "Parts of the CPU while only A is busy",
            lambda seen: _percent({"a": 0, "b": 0, "c": 0} | seen["value"]["a has come"]),
            unit="%",
            picked=["a"],
        ),
    ),
    Question(
        "besteffort",
        "How much CPU time does the BestEffort pod get while the three other pods are busy?",
        choices=["nothing at all", _LITTLE, _EQUAL],
        answer_of=lambda cpus: "nothing at all" if cpus == 0 else _LITTLE if cpus < 0.1 else _EQUAL,
        why="The BestEffort pod got {observed:.3f} CPUs. The minimum weight of cgroup v2 gives the pod "
        "more CPU time than 2 shares on cgroup v1.",
        measured=True,
        picture=show.amounts("CPU time of the four busy pods", lambda seen: seen["of"], unit="CPUs", picked=["free"]),
    ),
    Question(
        "quiet",
        "The cgroups docker, user.slice and system.slice together use 1.5 of the 48 CPUs. How many "
        "CPUs can the pods use?",
        unit="CPUs",
        tolerance=0.02,
        why="The pods can use all CPUs that the other cgroups leave idle. 91% is the minimum if all four "
        "cgroups are busy.",
        picture=show.amounts(
            "CPUs of the pods",
            lambda seen: {case: cpus["kubepods"] for case, cpus in seen["of"].items()},
            unit="CPUs",
            bounds=[("all", 48)],
            picked=["quiet daemons"],
        ),
    ),
]

EXERCISES = [
    Exercise(
        "enough",
        "How many CPUs can four busy threads use, and how many CPUs does the node have?",
        number(
            2,
            {
                1: "Shares in the ratio 1 : 3 would give the pods 1 and 3 CPUs, but shares matter only "
                "if CPU is scarce.",
                0.1: "A request is not a limit.",
            },
            otherwise="Two threads can use two CPUs at most, and no other pod needs these CPUs.",
            tolerance=0.05,
        ),
        "answer = 2",
        "Shares matter only if CPU is scarce. Here four threads have four CPUs.",
    ),
    Exercise(
        "neighbour",
        "The shares of the cgroup burstable correspond to the requests of its pods. The cgroup of the "
        "Guaranteed pod is a sibling of burstable.",
        number(
            1,
            {
                0.22: "The kernel divides CPU time by cgroups, not by threads.",
                2: "The Burstable pod is busy, too.",
            },
            otherwise="Both cgroups below kubepods have the shares of 1 CPU. How does the kernel divide the CPUs?",
            tolerance=0.05,
        ),
        "answer = 1",
        "The eight threads share the CPU time of their cgroup. The Guaranteed pod gets the CPU that it requests.",
    ),
]
