"""Questions and exercises of notebook 09, drivers and cgroup versions."""

from __future__ import annotations

from kitlib.kubelet.cm.cgroup_names import to_systemd
from kitlib.kubelet.cm.conversions import milli_cpu_to_shares, shares_to_weight_by_runtime
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, number

WRITTEN = ("cpu,cpuacct", "memory", "cpuset", "pids", "hugetlb")
LEVELS = "a dash separates levels of slices"
SAME, SMALLER, LARGER = "the same part", "a smaller part", "more than ten times as large a part"

QUESTIONS = [
    Question(
        "name",
        "The driver is systemd, and the pod's UID is de4983ac-ff0c-40be-8472-8b6674593aa3. Why can "
        "the pod's directory not be called kubepods-besteffort-podde4983ac-ff0c-….slice, as in an "
        "article?",
        choices=["it can", "the name is too long", LEVELS, "systemd forbids digits"],
        answer_of=lambda slashes: "it can" if slashes <= 3 else LEVELS,
        why="In a slice's name each dash starts a new level, so the directory would be {observed} levels "
        "deep. The kubelet writes underscores instead.",
        picture=show.nested("The directories of the name as printed", lambda seen: show.levels(seen["of"])),
    ),
    Question(
        "ratio",
        "A BestEffort pod and a Burstable pod that requests 1 CPU compete for one CPU. On v1 their "
        "shares are 2 and 1024. Compared with v1, what part of the CPU time does the BestEffort pod "
        "get on v2?",
        choices=[SAME, SMALLER, LARGER],
        answer_of=lambda times: LARGER if times > 10 else SAME if times > 0.9 else SMALLER,
        why="The BestEffort pod gets {observed:.1f} times as much CPU time on v2, but its part is still "
        "small: the weights are 1 and 39, the shares 2 and 1024.",
        picture=show.amounts(
            "Part of the CPU of the BestEffort pod",
            lambda seen: {f"cgroup v{version}": 100 * part for version, part in seen["of"].items()},
            unit="%",
            picked=["cgroup v2"],
        ),
    ),
    Question(
        "eleven",
        "How many of the eleven hierarchies of cgroup v1 does the simulated kernel mount?",
        unit="hierarchies",
        answer_of=lambda lines: sum(line.split(":")[1] in WRITTEN for line in lines),
        why="The simulated kernel mounts cpu,cpuacct, memory, cpuset, pids and hugetlb. In the devices "
        "hierarchy, the runtime writes a list of allowed devices. In the other hierarchies, it only creates "
        "a directory. On v2 the file /proc/PID/cgroup has one line: 0::…",
        picture=show.places(
            "Hierarchies that the simulated kernel mounts",
            lambda seen: {line.split(":")[1]: show.PlaceCard([], "mounted", "chosen") for line in seen.observed},
        ),
    ),
    Question(
        "outside",
        "If the kubelet and the runtime use different cgroup drivers, how much memory (MiB) can the two "
        "containers use together?",
        unit="MiB",
        why="Each container has its own limit of 256Mi, and no container's cgroup is below the pod's cgroup.",
        picture=show.amounts(
            "Memory of both containers together",
            lambda seen: seen["of"],
            unit="MiB",
            bounds=[("limit of the pod", 256)],
        ),
    ),
]

EXERCISES = [
    Exercise(
        "default-weight",
        "Look at the last column of the table of weights.",
        number(
            lambda: shares_to_weight_by_runtime(1024),
            {39: "39 is on the straight line of the kubelet's conversion, for pods and classes."},
            otherwise="Look at the row of 1000 milli-CPU in the table.",
        ),
        "answer = shares_to_weight_by_runtime(1024)",
        "100 is the kernel's default weight. The runtime's curve maps 1024 shares to this weight.",
    ),
    Exercise(
        "times",
        "The runtime's curve applies to containers. Read both weights in the table.",
        number(
            lambda: (
                shares_to_weight_by_runtime(milli_cpu_to_shares(1000))
                / shares_to_weight_by_runtime(milli_cpu_to_shares(100))
            ),
            {10: "10 is the ratio of the shares on v1. Divide the two weights of the last column."},
            otherwise="Divide the two weights of the last column.",
            tolerance=0.03,
        ),
        "answer = shares_to_weight_by_runtime(1024) / shares_to_weight_by_runtime(102)",
        "The weights grow more slowly than the requests, so the ratio is less than ten.",
    ),
    Exercise(
        "path",
        "Call to_systemd(('kubepods', 'podaa-bb')).",
        choice(
            lambda: to_systemd(("kubepods", "podaa-bb")),
            {"/kubepods.slice/kubepods-podaa-bb.slice": "A dash in the UID would start another level of slices."},
            otherwise="The slice of a Guaranteed pod is directly below kubepods.slice, and its name contains "
            "the complete path.",
        ),
        'answer = to_systemd(("kubepods", "podaa-bb"))',
    ),
    Exercise(
        "units",
        "Notebook 04 contains this experiment.",
        number(
            100 * 2**20,
            {100_000_000: "For the kernel the unit M is 2^20."},
            otherwise="For the kernel the unit M is 2^20.",
        ),
        "answer = 100 * 2**20",
    ),
    Exercise(
        "root",
        "With --cgroups-per-qos the kubelet adds kubepods to --cgroup-root.",
        choice(
            "/custom/kubepods",
            {"/custom": "Pods are never in the root itself, but in a cgroup below it."},
            otherwise="The kubelet creates the cgroup of all pods below /custom.",
        ),
        'answer = "/custom/kubepods"',
    ),
]
