"""Questions and exercises of notebook 05, who dies first."""

from __future__ import annotations

from typing import Any

from kitlib.api.defaults import set_defaults
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.manifests import pod

MIB, GIB = 2**20, 2**30
MACHINE, LIMIT = 1280 * MIB, GIB


def _adjustment(request: str, capacity: int) -> int:
    made = set_defaults(from_dict(pod("p", memory=request)))
    return get_container_oom_score_adjust(made, made.spec.containers[0], capacity)


def _overtakes() -> float:
    """Return the MiB above which a BestEffort pod has a higher score than thrifty: 1000‰ + x = 999‰ + 220 MiB."""
    return 220 - (1000 - _adjustment("1Mi", MACHINE)) * LIMIT / 1000 / MIB


def _of_two(answer: Any, _: Any) -> str:
    asking, other = (float(one) for one in answer)
    expected = _adjustment("100Mi", 8 * GIB)
    return first_problem(
        (asking == other, "The QoS class belongs to the pod, but the formula uses the container's own request."),
        (asking != expected, "The first value is 1000 − 1000 × 100 MiB / 8 GiB, rounded up."),
        (
            other != 999,
            "The second container has no request, so the formula gives 1000. A Burstable container gets at most 999.",
        ),
    )


QUESTIONS = [
    Question(
        "first",
        "When the pod honest needs 580 MiB, which pod does the kernel kill?",
        choices=["free", "thrifty", "honest", "safe", "nobody"],
        why="The kernel compares scores, not QoS classes: 999 thousandths plus 220 MiB exceed 1000 "
        "thousandths plus 10 MiB.",
        formula="badness = pages in use + oom_score_adj × pages in question / 1000",
    ),
    Question(
        "adj",
        "What is the oom_score_adj of the pod honest, which requests 500 MiB, on a machine with 1280 MiB of memory?",
        unit="oom_score_adj",
        tolerance=0.01,
        why="The formula uses the machine's memory, not the allocatable memory. The kubelet truncates the "
        "result of the division.",
        formula="1000 − 1000 × 500 / 1280",
        picture=show.points("oom_score_adj of honest", "honest"),
    ),
    Question(
        "bounds",
        "A Burstable container requests all of the machine's memory, 1Gi. What is its oom_score_adj?",
        unit="oom_score_adj",
        why="The formula gives 0, and the lower bound is 1000 − 997 = 3. The documentation of Kubernetes says 2, but "
        "the kubelet uses 3.",
        picture=show.points("oom_score_adj of the container", "requests all memory"),
    ),
    Question(
        "scope",
        "When the pod careless exceeds its limit, which pod does the kernel kill?",
        choices=["careless", "the BestEffort pod"],
        answer_of=lambda dead: "careless" if dead == ["careless"] else "the BestEffort pod",
        why="The OOM killer considers only processes below the cgroup that reached its limit.",
        picture=show.fates(
            "Where the kernel looks for a victim",
            {"careless": "uses more than its limit of 100Mi", "besteffort": "uses 400Mi, no limit"},
        ),
    ),
    Question(
        "critical",
        "Which oom_score_adj does the kubelet compute for a BestEffort pod with the priority class "
        "system-node-critical?",
        unit="oom_score_adj",
        why="The kubelet gives a pod of the priority class system-node-critical the oom_score_adj of a "
        "Guaranteed pod, in any QoS class.",
        picture=show.points("oom_score_adj of the critical pod", "critical, BestEffort"),
    ),
]


def _safe(answer: Any, _: Any) -> str:
    request = Quantity.parse(str(answer)).value()
    thrifty = 220 * MIB + _adjustment(str(answer), MACHINE) * LIMIT / 1000
    free = 10 * MIB + 1000 * LIMIT / 1000
    return first_problem(
        (request > 700 * MIB, "The node has no room for this request in addition to the requests of the other pods."),
        (
            thrifty >= free,
            f"The badness of thrifty is {thrifty / MIB:.0f} MiB; that of free is {free / MIB:.0f}. Request more.",
        ),
    )


EXERCISES = [
    Exercise(
        "overtaken",
        "1000 thousandths of 1 GiB plus x must exceed 999 thousandths plus 220 MiB. How many MiB is a "
        "thousandth of 1 GiB?",
        lambda answer, _: first_problem(
            (
                not abs(float(answer) - _overtakes()) <= 2,
                "A thousandth of 1024 MiB is about 1 MiB. What is the difference between the two scores?",
            ),
        ),
        "answer = 219",
        "The threshold is about 219 MiB, because the QoS class changes the score by a thousandth of the memory.",
    ),
    Exercise(
        "honest",
        "Each MiB of memory request lowers the badness of thrifty by about 0.8 MiB here. The "
        "difference to the badness of free is 209 MiB.",
        _safe,
        'answer = "300Mi"',
        "A memory request protects a pod: memory use up to the request does not raise the pod's score above 1000.",
    ),
    Exercise(
        "two",
        "The kubelet computes the adjustment of each container from the container's own request.",
        _of_two,
        'answer = (adjustment(capacity=8 * 2**30, memory="100Mi"), 999)',
        "Without a memory request the adjustment is 999. With 100Mi it is 1000 − 1000 × 100 / memory "
        "of the machine in MiB.",
    ),
    Exercise(
        "capacity",
        "Compute 1000 − 1000 × request / memory of the machine.",
        number(
            lambda: _adjustment("2Gi", 8 * GIB),
            {500: "You divided by the allocatable memory. The kernel and the formula use all of the machine's memory."},
            otherwise="Compute 1000 − 1000 × 2 / 8.",
        ),
        "answer = adjustment(capacity=8 * 2**30, memory='2Gi')",
        "The kernel uses the same unit, thousandths of the machine's memory, so it can add the memory "
        "that a process uses.",
    ),
]
