"""The size of a memory-backed emptyDir is the minimum of three amounts."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.kubelet.loop.emptydir import tmpfs_size

MI = 2**20
SIZES = [
    # sizeLimit, the containers' limits, node allocatable in MiB -> size in MiB
    ("4Mi", ["100Mi"], 512, 4),
    ("1Gi", ["100Mi", "50Mi"], 512, 150),
    ("1Gi", ["100Mi", None], 512, 512),  # a container without a limit: the pod has none
    (None, [None], 512, 512),
    ("0", [None], 512, 512),  # 0 is no limit
    ("1Gi", [None], None, 1024),
    (None, [None], None, None),
]


@pytest.mark.parametrize(("declared", "limits", "allocatable", "expected"), SIZES)
def test_it_is_the_smallest_of_size_limit_pod_limit_and_allocatable(
    declared: str | None, limits: list[str | None], allocatable: int | None, expected: int | None
) -> None:
    containers: list[dict[str, Any]] = [
        {"name": f"c{n}", "resources": {"limits": {"memory": limit}} if limit else {}} for n, limit in enumerate(limits)
    ]
    source = {"medium": "Memory", **({"sizeLimit": declared} if declared else {})}
    spec = {"containers": containers, "volumes": [{"name": "v", "emptyDir": source}]}
    pod: Pod = from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    volume = pod.spec.volumes[0].empty_dir
    assert volume is not None
    size = tmpfs_size(pod, volume, None if allocatable is None else allocatable * MI)
    assert size == (None if expected is None else expected * MI)
