"""The topics that are repeated at the start of later notebooks, with new numbers each time."""

from __future__ import annotations

from random import Random

from kitlib.api.defaults import set_defaults
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.cgroup_config import pod_totals
from kitlib.kubelet.cm.conversions import milli_cpu_to_quota, milli_cpu_to_shares
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.kubelet.qos.qos_class import compute_pod_qos
from kitlib.lab.drill import Drill, Topic
from kitlib.lab.manifests import container, pod

CLASSES = ("Guaranteed", "Burstable", "BestEffort")
GIB = 2**30


def _quota(draw: Random) -> Drill:
    milli = draw.choice((150, 300, 750, 1200, 2500))
    text = f"A container has a CPU limit of {milli}m. Which quota is written, in µs of every 100 ms?"
    return Drill(text, milli_cpu_to_quota(milli), "The limit's part of the period of 100,000 µs.", unit="µs")


def _pod_request(draw: Random) -> Drill:
    first, a, b = draw.choice((600, 900)), draw.choice((100, 250)), draw.choice((150, 200))
    made = pod("p", containers=[container("a", cpu=f"{a}m"), container("b", cpu=f"{b}m")],
               init=[container("i", cpu=f"{first}m")])  # fmt: skip
    text = f"An init container requests {first}m, two containers {a}m and {b}m. What does the pod request?"
    total = pod_totals(set_defaults(from_dict(made))).cpu_request
    return Drill(text, total, "The larger of the largest init container and the sum of the others.", unit="milli-CPU")


def _qos(draw: Random) -> Drill:
    cases = {
        "requests cpu 250m and memory 64Mi, and has no limits": pod("p", "250m", "64Mi"),
        "has the limits cpu 250m and memory 64Mi, and no requests": pod("p", cpu_limit="250m", memory_limit="64Mi"),
        "has neither requests nor limits": pod("p"),
        "requests and may use 250m of CPU; memory is not named": pod("p", "250m", cpu_limit="250m"),
    }
    words = draw.choice(list(cases))
    right = compute_pod_qos(set_defaults(from_dict(cases[words])))
    why = "Guaranteed needs CPU and memory limits in every container, equal to the requests. A limit alone is copied."
    return Drill(f"A pod with one container {words}. Which class is it?", right, why, choices=CLASSES)


def _shares(draw: Random) -> Drill:
    mine, others = draw.choice((100, 250, 500)), draw.choice((1000, 1500, 2000))
    a, b = milli_cpu_to_shares(mine), milli_cpu_to_shares(others)
    text = f"Two busy pods of one class request {mine}m and {others}m. What part of the CPU does the first one get?"
    return Drill(text, 100 * a / (a + b), "Its shares divided by the sum of both.", unit="%", tolerance=0.05)


def _wait(draw: Random) -> Drill:
    number = draw.choice((2, 3, 4))
    which = {2: "second", 3: "third", 4: "fourth"}[number]
    text = f"A container crashes at once, again and again. How long is the {which} back-off?"
    return Drill(text, min(10 * 2 ** (number - 1), 300), "10 s, doubled each time, at most 300 s.", unit="seconds")


def _adjustment(draw: Random) -> Drill:
    machine, request = draw.choice((4, 8, 16)), draw.choice((1, 2, 3))
    made = set_defaults(from_dict(pod("p", memory=f"{request}Gi")))
    score = get_container_oom_score_adjust(made, made.spec.containers[0], machine * GIB)
    text = f"A Burstable container requests {request}Gi on a machine of {machine}Gi. What is its oom_score_adj?"
    why = "1000 minus the requested thousandths of the machine's memory."
    return Drill(text, score, why, unit="oom_score_adj", tolerance=0.01)


def _allocatable(draw: Random) -> Drill:
    total, reserved, eviction = draw.choice((16, 32)), draw.choice((1, 2)), draw.choice((1, 3))
    text = f"A machine of {total}Gi reserves {reserved}Gi; hard eviction is memory.available<{eviction}Gi."
    text += " How many Gi are allocatable?"
    return Drill(text, total - reserved - eviction, "Capacity minus reservations minus the hard threshold.", unit="Gi")


def _kubepods(draw: Random) -> Drill:
    total, reserved, eviction = draw.choice((8, 16)), draw.choice((1, 2)), draw.choice((1, 3))
    flags = [f"--system-reserved=memory={reserved}Gi", f"--eviction-hard=memory.available<{eviction}Gi"]
    node = NodeConfig(machine=MachineInfo.declare(4, f"{total}Gi"), settings=read_settings(flags))
    limit = int(desired_tree(node, [], version=2)["/kubepods"]["memory.max"].value) / GIB
    text = (
        f"A machine of {total}Gi reserves {reserved}Gi; hard eviction is memory.available<{eviction}Gi. "
        "Which memory limit, in Gi, has the cgroup of all pods?"
    )
    return Drill(text, limit, "The eviction threshold is not taken off here: pods may use it for a moment.", unit="Gi")


def _burstable(draw: Random) -> Drill:
    a, b, c = draw.choice((100, 200)), draw.choice((300, 400)), draw.choice((500, 800))
    text = (
        f"Burstable pods request {a}m and {b}m, a Guaranteed pod {c}m. How many milli-CPU does the class burstable get?"
    )
    return Drill(text, a + b, "Only Burstable pods count in the class.", unit="milli-CPU")


def _exclusive(draw: Random) -> Drill:
    amount = draw.choice(("2", "1500m", "4", "2500m"))
    right = "yes" if int(amount.removesuffix("m")) % 1000 == 0 or "m" not in amount else "no"
    text = f"Static CPU manager; a Guaranteed container requests and may use {amount} CPU. Does it get CPUs of its own?"
    return Drill(text, right, "Only a whole number of CPUs, in a Guaranteed pod.", choices=("yes", "no"))


def _evicted(draw: Random) -> Drill:
    a, b = draw.sample((30, 80, 150, 200), 2)
    text = f"Memory pressure, equal priority: pod a is {a} MiB above its request, pod b {b} MiB. Who is evicted first?"
    return Drill(text, "a" if a > b else "b", "The one that is further above its request.", choices=("a", "b"))


def _fits(draw: Random) -> Drill:
    free, wanted = draw.choice((500, 900)), draw.choice((400, 700, 1000))
    from kitlib.study.scenario import Scenario  # needs numpy: loaded by the questions that need it

    scenario = Scenario.of(
        {"nodes": [{"name": "n", "cpu": 2}], "pods": [{"name": "there", "node": "n", "cpu": f"{2000 - free}m"},
         {"name": "new", "cpu": f"{wanted}m"}]}
    )  # fmt: skip
    right = "yes" if scenario.decide().suggested_host else "no"
    text = f"A node of 2 CPUs is idle; its pods request {2000 - free}m."
    text += f" Does a pod fit that requests {wanted}m and may use 8 CPUs?"
    return Drill(text, right, "Only requests count, neither limits nor use.", choices=("yes", "no"))


def _skew(draw: Random) -> Drill:
    zones = [draw.randint(0, 3) for _ in range(3)]
    place = draw.randrange(3)
    text = (
        f"Zones hold {zones[0]}, {zones[1]} and {zones[2]} matching pods. Which skew would one more matching pod give "
        f"in the zone with {zones[place]}?"
    )
    why = "Matching pods there, plus one, minus the smallest count of any zone."
    return Drill(text, zones[place] + 1 - min(zones), why, unit="")


def _victim(draw: Random) -> Drill:
    low, high = draw.choice(((0, 50), (10, 90)))
    mine = draw.choice((low, high + 10))
    right = "yes" if mine > low else "no"
    text = f"A full node runs one pod of priority {low}. May a pod of priority {mine} remove it?"
    return Drill(text, right, "Only pods of a lower priority may be victims.", choices=("yes", "no"))


def _backoff(draw: Random) -> Drill:
    attempt = draw.choice((2, 3, 4, 6))
    from kitlib.scheduler.queue.backoff import Backoff  # needs numpy too

    wait = Backoff().calculate_backoff_duration(attempt) / 1000
    text = f"How long is the scheduler's back-off after try number {attempt} of a pod, in seconds?"
    return Drill(text, wait, "1 s, doubled each time, at most 10 s.", unit="seconds")


def _gate(draw: Random) -> Drill:
    release = draw.choice(("1.25", "1.26", "1.27", "1.30"))
    right = "yes" if Release(release).enabled("PodSchedulingReadiness") else "no"
    text = f"Kubernetes {release}, default settings: does a pod with schedulingGates wait?"
    return Drill(text, right, "Alpha in 1.26 (off by default), beta and on since 1.27.", choices=("yes", "no"))


TOPICS = (
    Topic("quota", "01", "quota", _quota),
    Topic("pod-request", "01", "request", _pod_request),
    Topic("qos-class", "02", "cpu-only", _qos),
    Topic("shares", "03", "abc", _shares),
    Topic("restart-back-off", "04", "wait", _wait),
    Topic("oom-score-adj", "05", "adj", _adjustment),
    Topic("allocatable", "06", "memory", _allocatable),
    Topic("kubepods-limit", "06", "kubepods", _kubepods),
    Topic("burstable-class", "07", "burstable", _burstable),
    Topic("exclusive-cpus", "08", "qualify", _exclusive),
    Topic("eviction-rank", "11", "who", _evicted),
    Topic("requests-decide", "12", "left", _fits),
    Topic("skew", "13", "new", _skew),
    Topic("victim", "14", "victim", _victim),
    Topic("back-off", "15b", "backoff", _backoff),
    Topic("gates", "15", "status", _gate),
)
