"""Questions and exercises of notebook 09, drivers and cgroup versions."""

from __future__ import annotations

from kitlib.kubelet.cm.cgroup_names import to_systemd
from kitlib.kubelet.cm.conversions import milli_cpu_to_shares, shares_to_weight_by_runtime
from kitlib.lab.exercise import Exercise, Question, choice, number

WRITTEN = ("cpu,cpuacct", "memory", "cpuset", "pids", "hugetlb")
LEVELS = "a dash separates levels of slices"
SAME, SMALLER, LARGER = "the same part", "a smaller part", "more than ten times as large a part"

QUESTIONS = [
    Question(
        "name",
        "Driver systemd. The pod's UID is de4983ac-ff0c-40be-8472-8b6674593aa3. Why can the directory not be called "
        "kubepods-besteffort-podde4983ac-ff0c-….slice, as an article prints it?",
        choices=["it can", "the name is too long", LEVELS, "systemd forbids digits"],
        answer_of=lambda slashes: "it can" if slashes <= 3 else LEVELS,
        why="Every dash opens a level: the name would lie {observed} levels deep. The kubelet writes underscores.",
    ),
    Question(
        "ratio",
        "A BestEffort pod and a Burstable pod that requests 1 CPU fight for one CPU. On v1 the shares are 2 and "
        "1024. On "
        "v2 the BestEffort pod gets",
        choices=[SAME, SMALLER, LARGER],
        answer_of=lambda times: LARGER if times > 10 else SAME if times > 0.9 else SMALLER,
        why="{observed:.1f} times as large a part, and still little: weight 1 beside 39, instead of 2 shares "
        "beside 1024.",
    ),
    Question(
        "eleven",
        "How many of these eleven does the simulated kernel mount, so that the pod's file has that many lines?",
        unit="hierarchies",
        answer_of=lambda lines: sum(line.split(":")[1] in WRITTEN for line in lines),
        why="cpu,cpuacct, memory, cpuset, pids and hugetlb. In devices the runtime writes which devices are allowed, "
        "which is no amount; the others only get a directory. On v2 one line is left: 0::…",
    ),
    Question(
        "outside",
        "How many MiB may the two containers use together with the drivers that do not fit?",
        unit="MiB",
        why="Each container has 256Mi of its own, and none of them is below the pod's cgroup.",
    ),
]

EXERCISES = [
    Exercise(
        "default-weight",
        "The last column of the table.",
        number(
            lambda: shares_to_weight_by_runtime(1024),
            {39: "That is the kubelet's straight line, for pods and classes."},
            otherwise="Look at the line of 1000 milli-CPU.",
        ),
        "answer = shares_to_weight_by_runtime(1024)",
        "The kernel's default weight: the curve was made to go through this point.",
    ),
    Exercise(
        "times",
        "Containers have the runtime's curve: read both weights in the table.",
        number(
            lambda: (
                shares_to_weight_by_runtime(milli_cpu_to_shares(1000))
                / shares_to_weight_by_runtime(milli_cpu_to_shares(100))
            ),
            {10: "So it was on v1. Divide the two weights of the last column."},
            otherwise="Divide the two weights of the last column.",
            tolerance=0.03,
        ),
        "answer = shares_to_weight_by_runtime(1024) / shares_to_weight_by_runtime(102)",
        "The curve is flatter than the requests: not ten times as much.",
    ),
    Exercise(
        "path",
        "to_systemd(('kubepods', 'podaa-bb'))",
        choice(
            lambda: to_systemd(("kubepods", "podaa-bb")),
            {"/kubepods.slice/kubepods-podaa-bb.slice": "A dash would open another level."},
            otherwise="A Guaranteed pod is directly below kubepods.slice; its slice's name holds the whole path.",
        ),
        'answer = to_systemd(("kubepods", "podaa-bb"))',
    ),
    Exercise(
        "units",
        "Notebook 04 tried it.",
        number(100 * 2**20, {100_000_000: "For the kernel M is 2^20."}, otherwise="For the kernel M is 2^20."),
        "answer = 100 * 2**20",
    ),
    Exercise(
        "root",
        "--cgroup-root with --cgroups-per-qos ends in kubepods.",
        choice("/custom/kubepods", {"/custom": "Pods never stand in the root itself."}, otherwise="Below /custom."),
        'answer = "/custom/kubepods"',
    ),
]
