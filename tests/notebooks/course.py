"""What the tests of the course share: where its notebooks are, and what stands in a notebook's file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
START = "00-start-here"
NAMES = [
    "01-a-pod-becomes-cgroup-files",
    "02-qos-classes-and-the-tree",
    "03-cpu-shares-quota-throttling",
    "03b-throttled-on-an-idle-node",
    "04-memory-limits-oom-restarts",
    "04b-memory-limits-by-hand",
    "05-who-dies-first",
    "06-the-node-capacity-reserved-allocatable",
    "06b-enforced-reservations",
    "07-qos-level-cgroups-and-qos-reserved",
    "08-exclusive-cpus-and-topology",
    "08b-topology",
    "09-drivers-and-cgroup-versions",
    "10-inside-the-kubelet",
    "11-eviction",
    "12-the-schedulers-pipeline",
    "12b-what-the-scheduler-counts",
    "13-topology-spread",
    "13b-zones-that-do-not-exist-yet",
    "14-priority-and-preemption",
    "14b-a-preemption-second-by-second",
    "15-gates-queues-quota",
    "15b-queues-and-quota",
    "16-one-scenario-every-release",
    "17-explain-your-own-cluster",
    "18-throttled-at-20-percent",
    "19-memory-that-is-not-heap",
    "20-swap-psi-memory-qos",
    "20b-full-nodes-and-memory-qos",
    "21-day-2",
    "21b-autoscalers",
    "22-limit-range-disk-resize",
    "22b-resize-in-place",
    "23-devices",
    "23b-alternatives-and-broken-devices",
    "24-what-if-sweeps",
    "25-what-older-articles-say",
]
SECTIONS = (
    "The question",
    "Predict",
    "Run it",
    "Desired and observed",
    "What Kubernetes' source does",
    "Exercises",
    "Further reading",
)
RIGHT: dict[str, dict[str, Any]] = {
    "01-a-pod-becomes-cgroup-files": {
        "quota": 150000,
        "levels": "4",
        "by-hand": "400Mi",
        "request": 700,
        "unlimited": "none",
        "disk": "none",
    },
    "02-qos-classes-and-the-tree": {
        "limits-only": "Guaranteed",
        "cpu-only": "Burstable",
        "sidecar": "Burstable",
        "disk": "BestEffort",
        "init": "Burstable",
        "upside-down": "it is never created",
        "place": "directly below kubepods",
    },
    "03-cpu-shares-quota-throttling": {"quiet": 46.5},
    "03b-throttled-on-an-idle-node": {"metrics": "what it uses"},
    "04-memory-limits-oom-restarts": {"who": "the kernel", "code": "137", "phase": "Running", "wait": 10, "free": 4096},
    "04b-memory-limits-by-hand": {
        "lower-v1": "the kernel refuses the new limit",
        "lower-v2": "the process is killed",
        "order": "memory.memsw.limit_in_bytes",
        "units": 104857600,
        "minus": "on v1 only",
    },
    "05-who-dies-first": {"first": "thrifty", "adj": 610, "bounds": 3, "scope": "careless", "critical": -997},
    "06-the-node-capacity-reserved-allocatable": {
        "memory": "4 GiB reserved, 8 GiB hard eviction threshold",
        "kubepods": "capacity − reserved",
        "limits": 16,
        "missing": "does not start",
    },
    "06b-enforced-reservations": {
        "worked-cpu": 7168,
        "worked-burstable": 1546,
        "own": 768,
        "hog": "it starts, and is ended",
    },
    "07-qos-level-cgroups-and-qos-reserved": {
        "after": 1000,
        "best": "the minimum",
        "listing": 11361,
        "burstable": 700,
        "half": 850,
        "in-use": "it writes what is in use",
        "rewritten": 0,
    },
    "08-exclusive-cpus-and-topology": {
        "who": "earlier and pod-2",
        "pool": 36,
        "gap": "at most 10 s: it depends on the next tick",
        "mask": "4, 5, 20 and 21",
        "qualify": 2,
        "squeezed": 1,
    },
    "08b-topology": {"crowd": "CPU 0", "owner": "CPU 1", "gpu": "all except none", "wide": "it fails at admission"},
    "09-drivers-and-cgroup-versions": {
        "name": "a dash separates levels of slices",
        "eleven": 5,
        "outside": 512,
        "ratio": "more than ten times as large a part",
    },
    "10-inside-the-kubelet": {
        "requirements": 3,
        "order": "class, pod, container",
        "class": "within a minute",
        "pod": "never",
        "orphan": "within two seconds",
    },
    "11-eviction": {
        "who": "report",
        "when": "20 to 30 s later",
        "phase": "it stays, Failed, with reason Evicted",
        "priority": "idle",
        "newcomers": "neither",
    },
    "12-the-schedulers-pipeline": {
        "left": 2,
        "winner": "lopsided",
        "weight": "half",
        "cycle-state": 2,
        "all-filters": 1,
        "percentage": 420,
    },
    "12b-what-the-scheduler-counts": {
        "limits": "only may-use-8",
        "overhead": "no: overhead is added to its request",
        "prefilter": "1",
        "extender": 2,
        "busy": "nothing",
        "neighbour": "nowhere: it stays pending",
    },
    "13-topology-spread": {
        "old": "nowhere: it stays pending",
        "new": "worker4",
        "side": "it stays pending",
        "taints": "it waits: the empty zone counts",
    },
    "13b-zones-that-do-not-exist-yet": {
        "third": "zone1 or zone2",
        "min": "zone3, after the autoscaler has added it",
        "defaults": "those of zone b",
        "cordoned": 4,
    },
    "14-priority-and-preemption": {
        "node": "n3",
        "victim": "batch-3",
        "cycles": 2,
        "never": 0,
        "queue": "it stands first in the queue",
        "help": 0,
        "budget": "web-3",
        "budget-all": 1,
    },
    "14b-a-preemption-second-by-second": {
        "better": "n1",
        "promise": "it is cleared",
        "starts": "as soon as the victim has ended",
        "deaf": "when the grace period is over",
    },
    "15-gates-queues-quota": {
        "status": "SchedulingGated",
        "cost": "nothing",
        "one-gate": "it still waits",
        "cycles": 0,
        "wasted": 11,
        "autoscaler": 1,
    },
    "15b-queues-and-quota": {
        "backoff": 10,
        "early": 0,
        "flush": "after about five minutes",
        "quota": "it is refused and does not exist",
        "nosy": "only plain",
        "starving": 50,
    },
    "16-one-scenario-every-release": {
        "how-many": 6,
        "gates": "1.27",
        "cause": "excluded nodes no longer count in the skew",
        "class": "BestEffort",
        "cluster": "directly below kubepods",
    },
    "17-explain-your-own-cluster": {
        "reasons": 3,
        "own": "request less CPU",
        "more": 4,
        "drain": "it refuses to start",
        "grow": "it still waits",
    },
    "18-throttled-at-20-percent": {
        "threads": "with eight threads, not with two",
        "burst": "none: the kubelet never writes it",
    },
    "19-memory-that-is-not-heap": {
        "cache": "it runs on",
        "working": 50,
        "heap": "yes",
        "tmpfs": "again and again",
        "child-v1": "Running, no restart",
        "child-v2": "OOMKilled, and restarted",
    },
    "20-swap-psi-memory-qos": {"who": 1, "share": 128, "killed": 425, "v1": 0, "slow": "about a third", "psi": 67},
    "20b-full-nodes-and-memory-qos": {
        "whose": "that of the two that may swap, by size",
        "evicted": "it evicts a pod",
        "high": "several minutes",
        "high-swap": "within a second",
    },
    "21-day-2": {
        "drain": "it asks again and again, and never ends",
        "at-once": 1,
        "sick": "the drain is refused as well",
        "rolled": 4,
        "keys": 3,
        "descheduler": 1,
        "after": 0,
    },
    "21b-autoscalers": {
        "idle": "e",
        "zone": "no, none",
        "percent": 200,
        "replicas": 2,
        "nothing": "it does nothing: there is nothing to divide by",
        "both": "at the most: 10 replicas",
    },
    "22-limit-range-disk-resize": {
        "class": "Burstable",
        "limited": 200,
        "asking": "it is refused",
        "running": "nothing: they keep what they have",
        "full": "the kubelet evicts the pod",
        "counted": "writer, logger and scratch",
        "pressure": "greedy",
    },
    "22b-resize-in-place": {
        "resize": "Deferred: it waits",
        "room": "no: what web waits for counts already",
        "then": "it gets its CPU within seconds",
        "too-much": "the API server refuses it",
        "guaranteed": "the API server refuses it",
        "shrink": "the kubelet does not do it, and says so",
    },
    "23-devices": {
        "template": 2,
        "shared": 3,
        "together": "all on the same node",
        "decides": "the scheduler",
        "preempts": 0,
        "left": "the former are gone, the latter is there and free",
    },
    "23b-alternatives-and-broken-devices": {
        "first": "n2",
        "older": "n1",
        "second": 2,
        "tainted": "nowhere: it waits",
        "tolerates": "n1",
    },
    "24-what-if-sweeps": {
        "victim": "less than half of the time",
        "pending": 10,
        "policy": "yes, about one pod",
        "packs": "none or one",
        "cluster": 1,
    },
    "25-what-older-articles-say": {
        "kmem": "no limit: the write is ignored",
        "run-all": 2,
        "rounded": "yes, by rounding",
        "double": "no: vip is counted twice",
        "pids": "into the pod's cgroup",
        "huge": 0,
        "place": "after the default filters, for the two other nodes",
        "flushes": 3.7,
    },
}
"""The right answer to each question that has the same one on both kernels."""
SIMULATED: dict[str, dict[str, Any]] = {
    "03-cpu-shares-quota-throttling": {
        "abc": 25,
        "alone": 100,
        "besteffort": "a few thousandths of a CPU to a few hundredths",
    },
    "03b-throttled-on-an-idle-node": {"idle": 200, "threads": "the same CPU time"},
    "18-throttled-at-20-percent": {
        "use": 100,
        "took": "more than 100 ms",
        "counted": "about 60: three for each request",
        "limit": "in some requests",
    },
}
"""Those that a busy machine would change: the simulated kernel's, with cgroup v2."""
ASKED = re.compile(r'lesson\.ask\(\s*"([^"]+)"')
CHECKED = re.compile(r'lesson\.check\(\s*"([^"]+)"')
_REVEALED = re.compile(r'lesson\.(?:reveal|experiment)\(\s*(?:"([^"]+)"|\[([^\]]+)\])')


def revealed(source: str) -> list[str]:
    """The questions that a cell answers: by `lesson.reveal`, or by `lesson.experiment` of one question or several."""
    found = _REVEALED.findall(source)
    return [key for one, several in found for key in ([one] if one else re.findall(r'"([^"]+)"', several))]


class Notebook:
    """One notebook's file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = NOTEBOOKS / f"{name}.ipynb"
        self.data: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        self.cells: list[tuple[str, str]] = [
            (cell["cell_type"], "".join(cell["source"])) for cell in self.data["cells"]
        ]

    @property
    def own(self) -> list[tuple[str, str]]:
        """The cells without those that are written from the lesson's questions."""
        made = ["kitlib" in cell["metadata"] for cell in self.data["cells"]]
        return [cell for cell, from_lesson in zip(self.cells, made, strict=True) if not from_lesson]

    @property
    def code(self) -> list[str]:
        """The sources of the code cells."""
        return [source for kind, source in self.cells if kind == "code"]

    @property
    def prose(self) -> str:
        """All markdown but the questions, which are written from the lesson."""
        return "\n".join(source for kind, source in self.own if kind == "markdown")

    @property
    def headings(self) -> list[str]:
        """The headings, in order, without their marks."""
        return [line.lstrip("#").strip() for line in self.prose.splitlines() if re.match(r"#+ ", line)]


def right(name: str, *, simulated: bool = False) -> dict[str, Any]:
    """Question -> right answer of a notebook; with `simulated`, of every question that it asks."""
    return {**RIGHT.get(name, {}), **(SIMULATED.get(name, {}) if simulated else {})}


def answer(notebook: Any, name: str, *, simulated: bool = False) -> None:
    """Have a learner who knows answer the questions of a notebook (nbformat's) as soon as they are asked."""
    known = right(name, simulated=simulated)
    for cell in notebook.cells:
        for key in ASKED.findall(cell.source) if cell.cell_type == "code" else ():
            if key in known:
                cell.source += f"\nlesson._questions[{key!r}].answer({known[key]!r})"


def solve(notebook: Any, name: str) -> list[str]:
    """Have a learner who knows put the solutions into the exercises' cells; the keys of the exercises."""
    from kitlib.lab.lessons import content

    solved = []
    for cell in notebook.cells:
        for key in CHECKED.findall(cell.source) if cell.cell_type == "code" else ():
            solution = content(name).exercises[key].solution.strip()
            cell.source = f'{solution}\nlesson.check("{key}", answer)'
            solved.append(key)
    return solved


def points(folder: Path, name: str, *, simulated: bool = False) -> dict[str, float]:
    """What the kept answers of such a notebook were worth."""
    from kitlib.lab.progress import Progress

    known = right(name, simulated=simulated)
    return {entry.task: entry.points for entry in Progress(folder).entries(name) if entry.task in known}
