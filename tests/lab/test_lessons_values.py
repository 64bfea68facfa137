"""Exercises whose answer is a number or a word: every way to write it is right, and a wrong one gets its own hint.

A row is: notebook and exercise, the right answer, and wrong ones with words of their hints. Numbers are right as int,
float and text; words in any case, with blanks or quotes around them.
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.lab.exercise import judged
from kitlib.lab.lessons import content

NUMBERS: dict[str, tuple[float, dict[Any, str]]] = {
    "25 processes": (40, {100: "as a whole", 50: "does not divide", 60: "Subtract", 160: "Subtract"}),
    "25 minutes": (5, {1: "until 1.23", 10: "longest back-off", 60: "five minutes", 0: "five minutes"}),
    "12b counts": (1, {2: "also needs its overhead", 0: "450m + 100m", 3: "450m + 100m", 1.8: "450m + 100m"}),
    "01 smallest": (1000, {100: "1m of the period", 10: "is a limit", 1: "first line", 5000: "first line"}),
    "03 enough": (2, {1: "CPU is scarce", 0.1: "not a limit", 4: "two CPUs at most", 3: "two CPUs at most"}),
    "03 neighbour": (1, {0.22: "by cgroups", 2: "is busy", 0.5: "divide the CPUs", 1.8: "divide the CPUs"}),
    "05 overtaken": (
        219,
        {
            999: "difference between",
            1: "difference between",
            220.9 * 2: "difference between",
            210: "difference between",
        },
    ),
    "05 capacity": (750, {500: "allocatable", 250: "1000 × 2 / 8", 999: "1000 × 2 / 8", 2: "1000 × 2 / 8"}),
    "06 percent": (858993459, {0.8: "in bytes", 819: "in bytes", 8589934592: "in bytes", 800_000_000: "in bytes"}),
    "06b pods": (32, {110: "only lower", 8: "4 pods for each", 4: "4 pods for each", 16: "4 pods for each"}),
    "07 allocatable": (
        700,
        {800: "reservation for the system", 600: "threshold", 1000: "1000 − 100", 900: "1000 − 100"},
    ),
    "07 left": (10, {0: "small amount", 990: "1000 − 990", 1000: "1000 − 990", 100: "1000 − 990"}),
    "08 init": (4, {6: "two of the init", 2: "stay with the pod", 8: "the larger", 1: "the larger"}),
    "09 default-weight": (
        100,
        {39: "straight line", 1024: "1000 milli-CPU", 1: "1000 milli-CPU", 10: "1000 milli-CPU"},
    ),
    "09 units": (104857600, {100_000_000: "M is 2^20", 100: "M is 2^20", 1024: "M is 2^20", 104857601: "M is 2^20"}),
    "09 times": (5.88, {10: "on v1", 100: "last column", 17: "last column", 1: "last column"}),
    "04b tmpfs": (20, {100: "charged to the cgroup", 180: "does not raise", 30: "one cgroup", 80: "one cgroup"}),
    "10 removal": (2, {1: "sandbox", 0: "has children", 3: "own", 4: "below"}),
    "15 starve": (0, {1: "next small", 4: "let through", 2: "Five small", 3: "Five small"}),
    "10 restarted": (200, {150: "dead container", 50: "new limit", 350: "new limit", 100: "new limit"}),
    "11 grace": (0, {20: "soft threshold", 10: "does not wait", 30: "does not wait", 1: "does not wait"}),
    "11 reclaim": (660, {400: "to the threshold", 260: "together", 60: "together", 140: "together"}),
    "12 tolerated": (100, {0: "not counted", 50: "fewest", 1: "fewest", 33: "fewest"}),
    "13 two": (1, {3: "3 + 1", 2: "equal counts", 0: "skew of each", 6: "skew of each"}),
    "13b revision": (0, {4: "old revision", 1: "pod-template-hash", 2: "pod-template-hash", 8: "pod-template-hash"}),
    "13b waits": (4, {2: "maxSkew 1", 6: "two zones", 3: "maxSkew pods each", 8: "maxSkew pods each"}),
    "14 lowest": (11, {10: "not lower", 1: "priority 10", 101: "priority 10", 1000: "priority 10"}),
    "14b own-victim": (0, {1: "cannot be satisfied", 2: "one candidate", 3: "one candidate", 4: "one candidate"}),
    "15b slow-events": (0, {10: "over long", 60: "with a minute", 1: "with a minute", 50: "with a minute"}),
    "16 upgrade": (1, {0: "two columns", 2: "two columns", 13: "two columns", 5: "two columns"}),
    "17 least": (1000, {1500: "requests now", 4000: "has 3", 500: "4 − 3", 3000: "4 − 3"}),
    "17 noexecute": (3, {2: "Three nodes", 1: "each node", 4: "each node", 0: "each node"}),
    "17 decode": (2, {5: "all nodes", 3: "have a taint", 0: "before the reason", 1: "before the reason"}),
    "18 used-up": (5, {30: "at the same time", 100: "the period", 50: "divided by six", 6: "quota of 30 ms"}),
    "18 share": (100, {33: "share of periods", 33.3: "one burst", 200: "600 periods", 50: "600 periods"}),
    "18 threads": (3, {64: "in 5 ms", 30: "Threads", 1: "Each thread", 8: "Each thread"}),
    "19 limit": (760, {512: "heap alone", 720: "Forty stacks are", 721: "not one", 608: "Add all five"}),
    "19 set": (280, {150: "Anonymous memory alone", 200: "Only inactive", 400: "less inactive", 120: "less inactive"}),
    "19 back": (200, {120: "can go too", 250: "no copy on any disk", 80: "except those", 400: "except those"}),
    "20 limited": (1024, {3072: "its request", 16384: "all the swap", 2048: "The limit does not", 512: "node memory"}),
    "20 percent": (15, {0.15: "In percent", 1500000: "microseconds", 1.5: "10 000 000", 35: "between the two looks"}),
    "20b line": (
        640,
        {512: "Half of the limit", 384: "counted from the request", 768: "the way itself", 947: "factor"},
    ),
    "21 evictions": (3, {5: "keeps the average", 4: "keeps the average", 2: "still a skew of 2", 1: "one by one"}),
    "22 allocatable": (9, {10: "taken off", 8.5: "imagefs", 1: "less 10%", 5: "less 10%"}),
    "23 three": (0, {2: "on the pod's node", 4: "only two", 1: "on one node", 8: "on one node"}),
    "24 likely": (48, {0.48: "a hundred times", 52: "then web", 100: "then web", 25: "then web"}),
    "24 cheapest": (3, {5: "Less is enough", 2: "row of two zones", 1: "Walk along", 4: "Walk along"}),
    "24 weight": (2, {1: "spreading constraints win", 3: "Less is enough", 10: "free[", 0: "free["}),
}
WORDS: dict[str, tuple[str, dict[Any, str]]] = {
    "12b selector": ("all", {"none": "own namespace", "own": "without the field", "default": "all, own or none"}),
    "01 parent": (
        "/kubepods/besteffort",
        {
            "/kubepods": "Guaranteed pods",
            "/kubepods/burstable": "has a request or a limit",
            "besteffort": "begins with",
        },
    ),
    "02 zero": ("BestEffort", {"Burstable": "above zero", "Guaranteed": "no other request"}),
    "03b more-than-limit": (
        "cpuCFSQuota: false",
        {
            "cpu-quota": "boolean",
            "limits: none": "boolean",
            "cpuCFSQuota": "Which value",
            "cpuCFSQuota: true": "Which value",
            "cpuManagerPolicy: none": "Only the policy static",
        },
    ),
    "06b daemons": ("they are killed", {"nothing": "memory limit", "they are evicted": "pods only", "they wait": "or"}),
    "07 no-memory": ("none", {"besteffort": "memory requests", "both": "memory requests", "all": "or"}),
    "08b siblings": (
        "2-3",
        {"1-2": "the cores are 0-1", "0-1": "the cores are", "2": "the cores are", "2,4": "the cores are"},
    ),
    "08 reserved": (
        "0,7,16-32,39,48-63",
        {"0,32": "exclusive lists", "0-63": "exclusive lists", "7,16-31,39,48-63": "stay in the shared pool"},
    ),
    "08b whole-cores": (
        "SMTAlignmentError",
        {"TopologyAffinityError": "threads of a core", "UnexpectedAdmissionError": "SMT"},
    ),
    "09 path": (
        "/kubepods.slice/kubepods-podaa_bb.slice",
        {"/kubepods.slice/kubepods-podaa-bb.slice": "another level", "/kubepods/podaa-bb": "directly below"},
    ),
    "09 root": (
        "/custom/kubepods",
        {"/custom": "in the root itself", "/kubepods": "below /custom", "/kubepods/custom": "below /custom"},
    ),
    "10 without-qos": ("enforceNodeAllocatable", {"cgroupDriver": "enforces", "kubeReserved": "enforces"}),
    "11 tie": ("c", {"a": "not compared", "b": "uses most", "none": "Answer"}),
    "12 port": ("NodePorts", {"NodeResourcesFit": "not a resource", "NodeName": "Its name"}),
    "13 room": ("worker", {"worker4": "In 1.23", "worker3": "pods leave it", "zone1": "pods leave it"}),
    "14 two-cpus": ("n3", {"n1": "priority 100", "n2": "every pod unimportant", "n4": "every pod unimportant"}),
    "16 match-label-keys": ("1.27", {"1.25": "alpha", "1.26": "Ask each", "1.36": "Ask each"}),
    "23 plugin": ("NodeResourcesFit", {"DynamicResources": "about claims only", "NodePorts": "One of the two"}),
}
LITERAL = {"03b more-than-limit", "08b siblings", "08 reserved", "13 room"}
"""Words that are read in another way than letter by letter."""


def verdict(exercise: str, answer: Any) -> Any:
    notebook, key = exercise.split()
    return judged(content(notebook).exercises[key], answer, None)


@pytest.mark.parametrize("exercise", NUMBERS)
def test_a_right_number_is_right_however_it_is_written(exercise: str) -> None:
    right = NUMBERS[exercise][0]
    for answer in (right, float(right), str(right), f" {right} "):
        made = verdict(exercise, answer)
        assert made.right is True, (answer, made.text)


@pytest.mark.parametrize("exercise", NUMBERS)
def test_a_wrong_number_gets_its_hint(exercise: str) -> None:
    right, wrong = NUMBERS[exercise]
    for answer, words in wrong.items():
        made = verdict(exercise, answer)
        assert made.right is False and words in made.text, (answer, made.text)
    for answer in (right * 3 + 7, -right - 1, 1e15, float("nan"), float("inf"), "a few"):
        made = verdict(exercise, answer)
        assert made.right is False and made.text.strip(), answer


@pytest.mark.parametrize("exercise", WORDS)
def test_a_right_word_is_right_however_it_is_written(exercise: str) -> None:
    right = WORDS[exercise][0]
    ways = {right} if exercise in LITERAL else {right, right.upper(), f"  {right} ", f'"{right}"', f"{right}."}
    for answer in ways:
        made = verdict(exercise, answer)
        assert made.right is True, (answer, made.text)


@pytest.mark.parametrize("exercise", WORDS)
def test_a_wrong_word_gets_its_hint(exercise: str) -> None:
    right, wrong = WORDS[exercise]
    for answer, words in wrong.items():
        made = verdict(exercise, answer)
        assert made.right is False and words in made.text, (answer, made.text)
    for answer in ("", f"not {right}" if exercise != "03b more-than-limit" else "not known", 42, True, ["?"]):
        made = verdict(exercise, answer)
        assert made.right is False and made.text.strip(), answer


def test_the_same_setting_has_several_names() -> None:
    for answer in (
        "--cpu-cfs-quota=false",
        "cpuCFSQuota = False",
        "cpuManagerPolicy: static",
        "the static CPU manager policy: cpuManagerPolicy",
    ):
        assert verdict("03b more-than-limit", answer).right, answer
    for answer in ("2,3", "3,2", " 2-3 "):
        assert verdict("08b siblings", answer).right, answer
    assert verdict("10 without-qos", "--enforce-node-allocatable").right
    assert verdict("13 room", "worker2").right is False


PAIRS: dict[str, tuple[tuple[float, float], dict[tuple[float, float], str]]] = {
    "05 two": ((988, 999), {(988, 988): "own request", (999, 999): "own request", (500, 999): "The first"}),
    "14b default": ((0, 500), {(500, 500): "never changes", (0, 0): "without a class", (1, 500): "priority 0"}),
}


@pytest.mark.parametrize("exercise", PAIRS)
def test_a_pair_of_numbers_is_judged_with_a_hint_for_each(exercise: str) -> None:
    right, wrong = PAIRS[exercise]
    assert verdict(exercise, right).right is True and verdict(exercise, list(map(str, right))).right is True
    for answer, words in wrong.items():
        made = verdict(exercise, answer)
        assert made.right is False and words in made.text, (answer, made.text)
    assert verdict(exercise, 7).read is False
