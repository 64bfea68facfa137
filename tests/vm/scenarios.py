"""Generated scenarios for both kernels: pods that run out of memory, and pods that want more CPU than there is.

A scenario is data, made from its number alone, so that a failure can be repeated.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field, replace

MIB = 2**20
FITTED = range(200)
"""Scenarios of CPU that were looked at while the simulated scheduler's constants (`ticks.FILLING`) were chosen. They
are recorded in tests/node/simulated; what is claimed of the model is tested on others."""


def numbers(place: int) -> range:
    """Which scenarios are run: those of memory (place 0) or of CPU (1), as KITLIB_SCENARIOS says.

    `200,1100-1150` = the first 200 of memory, and of CPU those from 1100 up to 1149; `40,1000-1010` unless told.
    """
    first, dash, end = os.environ.get("KITLIB_SCENARIOS", "40,1000-1010").split(",")[place].partition("-")
    return range(int(first), int(end)) if dash else range(int(first))


@dataclass(frozen=True)
class Container:
    """One container with its busy or growing process.

    Attributes:
        name: of the container, which is its cgroup below the pod's.
        memory: bytes that it has at first.
        oom_score_adj: of its process.
        group: memory.oom.group of its cgroup (v2).
        weight: cpu.shares or cpu.weight.
        quota: microseconds in 100 ms, 0 = none.
        busy: processes that want a CPU each.
    """

    name: str
    memory: int = 0
    oom_score_adj: int = 0
    group: bool = False
    weight: int = 100
    quota: int = 0
    busy: int = 1


@dataclass(frozen=True)
class Pod:
    """A cgroup with containers.

    Attributes:
        name: of its cgroup.
        weight, quota: as a container's.
        cpus: its cpuset.
    """

    name: str
    containers: list[Container]
    group: bool = False
    weight: int = 100
    quota: int = 0
    cpus: str = ""


@dataclass(frozen=True)
class Scenario:
    """What is set up.

    Attributes:
        number: what it was made from.
        pods: what stands in it.
        limit: bytes;
        limited: the cgroup that has that limit, "." = the one around all pods.
        grows: the container whose process grows until the OOM killer kills.
    """

    number: int
    pods: list[Pod]
    limit: int = 0
    limited: str = "."
    grows: str = ""
    every: dict[str, Container] = field(default_factory=dict)

    @property
    def limits(self) -> dict[str, int]:
        """`pod` and `pod/container` -> the quota of each that has one."""
        found = {pod.name: pod.quota for pod in self.pods} | {name: one.quota for name, one in self.every.items()}
        return {name: quota for name, quota in found.items() if quota}


def paths(pods: list[Pod]) -> dict[str, Container]:
    """`pod/container` -> the container."""
    return {f"{pod.name}/{one.name}": one for pod in pods for one in pod.containers}


def memory(number: int, version: int) -> Scenario:
    """Pods whose limit, or whose node's limit, is reached when one of them grows."""
    rng = random.Random(f"memory {number}")
    limit = rng.randrange(48, 129) * MIB
    count = rng.randrange(2, 6)
    whole = limit * rng.uniform(0.35, 0.8)
    parts = [rng.uniform(0.2, 1.0) for _ in range(count)]
    adjustments = [rng.choice([-997, 1000, 0, rng.randrange(2, 1000), rng.randrange(-999, 1001)]) for _ in range(count)]
    containers = [
        Container(
            f"c{index}",
            memory=int(whole * part / sum(parts)) // 4096 * 4096,
            oom_score_adj=adjustment,
            group=version == 2 and rng.random() < 0.2,
        )
        for index, (part, adjustment) in enumerate(zip(parts, adjustments, strict=True))
    ]
    rng.shuffle(containers)
    pods: list[Pod] = []
    while containers:
        take = rng.randrange(1, 4)
        pods.append(Pod(f"p{len(pods)}", containers[:take], group=version == 2 and rng.random() < 0.2))
        containers = containers[take:]
    limited = rng.choice([".", ".", rng.choice(pods).name])
    grows = rng.choice([name for name in paths(pods) if limited == "." or name.startswith(limited + "/")])
    return Scenario(number, pods, limit, limited, grows, paths(pods))


def cpu(number: int, version: int) -> Scenario:
    """Pods that want more than their processor has: by weights, by quotas, by both, at both levels."""
    rng = random.Random(f"cpu {number}")

    def weight() -> int:
        return round(10 ** rng.uniform(1.2, 3.6)) if version == 1 else round(10 ** rng.uniform(0.5, 3))

    def quota(chance: float) -> int:
        return rng.randrange(10, 90) * 1000 if rng.random() < chance else 0

    pods = [
        Pod(
            f"p{index}",
            [
                Container(f"c{one}", weight=weight(), quota=quota(0.35), busy=rng.randrange(1, 3))
                for one in range(rng.randrange(1, 3))
            ],
            weight=weight(),
            cpus="0",
        )
        for index in range(rng.randrange(2, 4))
    ]
    return Scenario(number, pods, every=paths(pods))


def limited_pods(number: int, version: int) -> Scenario:
    """Those of `cpu`, with limits at both levels as a kubelet sets them: a pod may have the sum of its containers."""
    rng = random.Random(f"pods {number}")
    pods = []
    for pod in cpu(number, version).pods:
        if rng.random() < 0.7:
            limited = [replace(one, quota=rng.randrange(5, 60) * 1000) for one in pod.containers]
            pod = replace(pod, containers=limited, quota=sum(one.quota for one in limited))
        pods.append(pod)
    return Scenario(number, pods, every=paths(pods))
