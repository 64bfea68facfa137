"""Questions and exercises of notebook 03b, CPU: quota and throttling."""

from __future__ import annotations

from typing import Any

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem
from kitlib.lab.readings import pod_cgroup, quota_of


def _free_wheel(answer: Any, cluster: Any) -> str:
    flags = cluster.node().config.settings
    if "free-wheel" not in {p.name for p in cluster.pods()}:
        return "The cluster has no pod free-wheel."
    return first_problem(
        (flags.cpu_cfs_quota, 'This kubelet writes quotas. Set "kubelet": ["--cpu-cfs-quota=false"] in the node.'),
        (
            not cluster.pod("free-wheel").spec.containers[0].resources.limits,
            "The pod free-wheel needs a CPU limit of 200m.",
        ),
        (
            quota_of(pod_cgroup(cluster, "free-wheel")) is not None,
            "The cgroup of the pod free-wheel still has a quota.",
        ),
        (
            float(answer) < 0.5,
            "The kernel does not stop the pod, so it exceeds its limit: advance the clock by some "
            "seconds, then measure.",
        ),
    )


def _setting(answer: Any, _: Any) -> str:
    plain = "".join(c for c in str(answer).lower() if c.isalnum())
    words = "The setting is a boolean of the kubelet; exercise 3 used it."
    return first_problem(
        ("cfsquota" not in plain and "cpumanagerpolicy" not in plain, words),
        (
            plain.endswith(("true", "quota")),
            "Which value must the setting have? By default the kubelet enforces limits.",
        ),
        ("cpumanagerpolicy" in plain and "static" not in plain, "Only the policy static gives exclusive CPUs."),
        ("cfsquota" in plain and not plain.endswith("false"), words),
    )


QUESTIONS = [
    Question(
        "idle",
        "How much CPU does the pod with one busy thread use on a node that is otherwise idle?",
        unit="milli-CPU",
        tolerance=0.1,
        why="The thread runs for 20 ms of every 100 ms. Then the kernel stops the thread until the next period begins.",
        measured=True,
        picture=show.amounts(
            "CPU time on an idle node",
            lambda seen: {"one": seen.observed},
            unit="milli-CPU",
            bounds=[("limit", 200)],
            picked=["one"],
        ),
    ),
    Question(
        "threads",
        "The CPU limit is the same, but the program has four busy threads. Compared with one thread, "
        "how much CPU time does the program get?",
        choices=["more CPU time", "the same CPU time", "less CPU time"],
        answer_of=lambda more: (
            "the same CPU time" if abs(more) < 0.02 else f"{'more' if more > 0 else 'less'} CPU time"
        ),
        why="Four threads use up the quota of 20 ms within 5 ms and then wait for 95 ms. In total they "
        "get as much CPU time as one thread.",
        measured=True,
    ),
    Question(
        "metrics",
        "What does the metrics API, which kubectl top uses, return for a container?",
        choices=["its requests and limits", "what it uses", "what it uses, in percent of its limit"],
        answer_of=lambda one: "what it uses" if set(one["usage"]) == {"cpu", "memory"} else "its requests and limits",
        why="An article says that kubectl top shows requests and limits, but the command shows only usage.",
        picture=show.steps(
            "What metrics.k8s.io has of a container",
            lambda seen: {
                "": [
                    ("usage", ", ".join(f"{name} {value}" for name, value in seen.observed["usage"].items()), "now"),
                    *((name, "in the Pod, not in the metrics", "never") for name in ("requests", "limits")),
                ]
            },
        ),
    ),
]

EXERCISES = [
    Exercise(
        "no-quota",
        "Start lesson.cluster([{'name': 'node-1', 'kubelet': ['--cpu-cfs-quota=false']}]), then apply "
        "pod(..., cpu_limit='200m', busy=1).",
        _free_wheel,
        """
cluster = lesson.cluster([{"name": "node-1", "cpus": 2, "memory": "1Gi", "kubelet": ["--cpu-cfs-quota=false"]}])
cluster.apply(pod("free-wheel", cpu_limit="200m", busy=1))
cluster.advance(4)
answer = cpu_used(cluster)["free-wheel"]
""",
        "Without a quota only the shares have an effect. The shares come from the limit, which the "
        "API server copies into the request.",
    ),
    Exercise(
        "more-than-limit",
        "Exercise 3 used this setting of the kubelet.",
        _setting,
        'answer = "cpuCFSQuota: false"',
        "With cpuCFSQuota: false the kernel enforces no CPU limit. Since 1.33 containers with "
        "exclusive CPUs have no quota either.",
    ),
]
