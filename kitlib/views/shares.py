"""The distribution of CPU time on a busy machine by shares, level by level, from the root down to a container.

    part of a level = weight of the cgroup / sum of the weights of its level
    part of the machine = part of a level × part of the parent cgroup

CPU time that a quota withholds is divided among the siblings, by weight again. For example, shares of 30720 beside
three cgroups of 1024 are 30720 / (30720 + 3 × 1024) = 91 percent of the machine.

Source: kernel/sched/fair.c (calc_group_shares); Documentation/scheduler/sched-design-CFS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kitlib.kubelet.cm import conversions
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupTree
from kitlib.node.simulated.cpu.sharing import water_fill

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_WEIGHT = {1: conversions.SHARES_PER_CPU, 2: conversions.DEFAULT_WEIGHT}
"""Kernel default of a cgroup's weight, by cgroup version."""


class CgroupShare(NamedTuple):
    """The CPU time of one cgroup.

    Attributes:
        path: path of the cgroup.
        title: readable name.
        kind: kind of the cgroup, such as `pod` or `container`.
        depth: number of levels below the root.
        weight: weight of the cgroup.
        beside: sum of the weights of its level.
        of_level: its fraction of that sum, 0 to 1.
        cpus: CPUs by the weights alone.
        limit: CPUs that its quota allows; None = no quota.
        with_limits: CPUs after the quotas are applied and the remainder is divided again.
    """

    path: str
    title: str
    kind: str
    depth: int
    weight: int
    beside: int
    of_level: float
    cpus: float
    limit: float | None
    with_limits: float


def parts(tree: CgroupTree, cpus: float, beside: Mapping[str, int] | None = None) -> list[CgroupShare]:
    """Return the CPU time of every cgroup if all containers could use all CPUs.

    Args:
        tree: a desired or observed tree.
        cpus: number of the machine's CPUs.
        beside: other top-level cgroups, name -> weight (`{"system.slice": 1024}`).

    Returns:
        Parents before children, without pause containers, which use no CPU time.
    """
    top = [(name, weight, None) for name, weight in (beside or {}).items()]
    children: dict[str, list[Cgroup]] = {}
    for cgroup in tree.values():
        if cgroup.kind != "sandbox" and cgroup.path != "/":
            children.setdefault(cgroup.parent, []).append(cgroup)
    found: list[CgroupShare] = []
    _level(children, "/", cpus, cpus, 1, tree.version, top, found)
    return found


def _level(
    children: Mapping[str, Sequence[Cgroup]],
    path: str,
    cpus: float,
    with_limits: float,
    depth: int,
    version: int,
    others: Sequence[tuple[str, int, None]],
    found: list[CgroupShare],
) -> None:
    # The fair scheduler divides a level among the runnable groups only, so idle cgroups must not add to the sum.
    here = [cgroup for cgroup in children.get(path, ()) if _works(cgroup, children)]
    weights = [_weight(cgroup, version) for cgroup in here] + [weight for _, weight, _ in others]
    total = sum(weights)
    limits = [_limit(cgroup, version) for cgroup in here] + [None] * len(others)
    wishes = [
        (float(w), min(with_limits, limit) if limit else with_limits) for w, limit in zip(weights, limits, strict=True)
    ]
    given = water_fill(wishes, with_limits)
    for i, cgroup in enumerate(here):
        share = weights[i] / total
        made = CgroupShare(
            cgroup.path,
            cgroup.title,
            cgroup.kind,
            depth,
            weights[i],
            total,
            share,
            cpus * share,
            limits[i],
            given[i],
        )
        found.append(made)
        _level(children, cgroup.path, made.cpus, made.with_limits, depth + 1, version, (), found)
    for i, (name, weight, _) in enumerate(others, start=len(here)):
        share = weight / total
        title = "beside the kubelet's cgroups"
        found.append(
            CgroupShare(f"/{name}", title, "system", depth, weight, total, share, cpus * share, None, given[i])
        )


def _works(cgroup: Cgroup, children: Mapping[str, Sequence[Cgroup]]) -> bool:
    """Return whether processes can run in the cgroup: a QoS cgroup without pods takes no share."""
    if cgroup.kind in ("container", "reserved", "system", "daemon"):
        return True
    return any(_works(child, children) for child in children.get(cgroup.path, ()))


def _weight(cgroup: Cgroup, version: int) -> int:
    file = cgroup.get("cpu.shares" if version == 1 else "cpu.weight")
    return int(file.value) if file is not None else DEFAULT_WEIGHT[version]


def _limit(cgroup: Cgroup, version: int) -> float | None:
    if version == 1:
        quota, period = cgroup.get("cpu.cfs_quota_us"), cgroup.get("cpu.cfs_period_us")
        if quota is None or int(quota.value) <= 0:
            return None
        return int(quota.value) / int(period.value if period is not None else conversions.QUOTA_PERIOD)
    file = cgroup.get("cpu.max")
    if file is None or file.value.startswith("max"):
        return None
    quota_text, period_text = file.shown.split()
    return int(quota_text) / int(period_text)


def shares_frame(node: Any, beside: Mapping[str, int] | None = None) -> pd.DataFrame:
    """Return the CPU time of a node's cgroups under full load as a table.

    Args:
        node: a node of a cluster.
        beside: as for `parts`.
    """
    import pandas as pd

    rows = [
        {
            "cgroup": part.path,
            "what": part.title,
            "weight": part.weight,
            "of its level": f"{part.weight} / {part.beside} = {part.of_level:.0%}",
            "CPUs by weight": round(part.cpus, 3),
            "limit": part.limit,
            "CPUs with limits": round(part.with_limits, 3),
        }
        for part in parts(node.desired(), float(node.config.machine.cores), beside)
    ]
    columns = ["cgroup", "what", "weight", "of its level", "CPUs by weight", "limit", "CPUs with limits"]
    return pd.DataFrame(rows, columns=columns)
