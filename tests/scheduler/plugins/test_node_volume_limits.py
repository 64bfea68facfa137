"""NodeVolumeLimits: how many volumes of a driver a node attaches, and which drivers it must have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitlib.api.release import Release
from kitlib.api.serialize import load
from kitlib.scheduler.framework.plugin import SKIP, Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.volumes import Volumes
from kitlib.scheduler.plugins.node_volume_limits import EXCEEDED, NodeVolumeLimits, attach_counts, attachable
from tests.scheduler.storage import NODES, pod

CSI = "csi.example.com"


def volume(name: str, driver: str | None = CSI, handle: str = "") -> str:
    source = f"csi: {{driver: {driver}, volumeHandle: {handle or name}}}" if driver else "hostPath: {path: /x}"
    return f"apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {{{source}}}\n"


def claim(name: str, on: str = "", storage_class: str = "") -> str:
    spec = f"volumeName: '{on}', storageClassName: '{storage_class}'"
    meta = f"name: {name}, namespace: default"
    return f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{{meta}}}\nspec: {{{spec}}}\n"


def limit(node: str, count: int | None, driver: str = CSI) -> str:
    allocatable = "" if count is None else f", allocatable: {{count: {count}}}"
    drivers = f"[{{name: {driver}, nodeID: {node}{allocatable}}}]"
    meta = f"metadata: {{name: {node}}}\nspec: {{drivers: {drivers}}}\n"
    return f"apiVersion: storage.k8s.io/v1\nkind: CSINode\n{meta}"


def attachment(node: str, volume_name: str, attacher: str = CSI) -> str:
    spec = f"attacher: '{attacher}', nodeName: {node}, source: {{persistentVolumeName: {volume_name}}}"
    meta = f"name: {node}-{volume_name}"
    return f"apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{{meta}}}\nspec: {{{spec}}}\n"


CLASS = f"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: made}}\nprovisioner: {CSI}\n"
TWO = [volume("v1"), volume("v2"), claim("c1", "v1"), claim("c2", "v2"), claim("new", "", "made"), CLASS]


def context(objects: list[str], *standing: Any, release: str = "1.36", gates: dict[str, bool] | None = None) -> Context:
    snapshot = Snapshot(NODES)
    for one in standing:
        snapshot.add(PodInfo(one))
    found = Context(snapshot, Release(release).with_gates(gates or {}))
    found.set_volumes(Volumes.of(load("---\n".join(objects))))
    return found


def passing(asked: Any, given: Context) -> list[str]:
    """Return the nodes that pass."""
    plugin, info = NodeVolumeLimits(), PodInfo(asked)
    state = plugin.pre_filter(info, given).state
    if state is SKIP:
        return ["a", "b"]
    found = plugin.filter(state, info, given, np.arange(2))
    return [name for name, code in zip("ab", found.codes, strict=True) if not code]


@pytest.mark.parametrize(
    ("claims", "most", "standing", "expected"),
    [
        (["c1"], 1, [], True),
        (["c1"], 0, [], False),
        (["c1", "c2"], 2, [], True),
        (["c1", "c2"], 1, [], False),
        (["c1", "c1"], 1, [], True),
        (["new"], 1, [], True),
        (["new"], 0, [], False),
        (["c1"], 1, ["c2"], False),
        (["c1"], 2, ["c2"], True),
        (["c1"], 1, ["c1"], True),
        (["c1"], 0, ["c1"], True),
        (["c1", "c2"], 1, ["c1"], False),
        (["c1"], None, ["c2"], True),
    ],
)
def test_the_volumes_of_a_node_stay_within_its_drivers_limit(
    claims: list[str], most: int | None, standing: list[str], expected: bool
) -> None:
    """Source: csi.go Filter."""
    others = [pod(*standing, name="standing", on="b")] if standing else []
    given = context([*TWO, limit("b", most)], *others)
    assert passing(pod(*claims), given) == (["a", "b"] if expected else ["a"])


@pytest.mark.parametrize(
    ("node", "name", "attacher", "expected"),
    [("b", "v2", CSI, False), ("a", "v2", CSI, True), ("b", "v2", "", True), ("b", "none", CSI, True),
     ("b", "v2", "other", True)],
    ids=["attached", "to another node", "by nobody", "unknown volume", "by another driver"],
)  # fmt: skip
def test_attached_volumes_count_even_without_a_pod(node: str, name: str, attacher: str, expected: bool) -> None:
    given = context([*TWO, limit("b", 1), attachment(node, name, attacher)])
    assert ("b" in passing(pod("c1"), given)) is expected


def test_limits_are_those_of_the_volumes_own_driver() -> None:
    assert passing(pod("c1"), context([*TWO, limit("b", 0, "other")])) == ["a", "b"]
    given = context([*TWO, limit("b", 3)], pod("c2", name="x", on="b"))
    plugin, info = NodeVolumeLimits(), PodInfo(pod("c1", "new"))
    state = plugin.pre_filter(info, given).state
    assert list(attach_counts(state, 1, given)) == [(CSI, 1, 2, 3)]
    assert list(attach_counts(state, 0, given)) == []
    given = context([*TWO, limit("b", 0)])
    found = plugin.filter(plugin.pre_filter(info, given).state, info, given, np.arange(2))
    assert found.texts[found.which[1]] == (EXCEEDED,)


@pytest.mark.parametrize(
    ("objects", "asked", "expected"),
    [
        (TWO, pod("c1"), {(CSI, "v1")}),
        (TWO, pod("c1", "c2"), {(CSI, "v1"), (CSI, "v2")}),
        (TWO, pod("new"), {(CSI, "default/new")}),
        (TWO, pod("missing"), set()),
        (TWO, pod(), set()),
        ([claim("c", "gone")], pod("c"), set()),
        ([claim("c", "gone", "made"), CLASS], pod("c"), {(CSI, "default/c")}),
        ([claim("c", "v"), volume("v", None)], pod("c"), set()),
        ([claim("c", "v"), volume("v", "''", "h")], pod("c"), set()),
        ([claim("c", "v"), volume("v", CSI, "''")], pod("c"), set()),
        ([claim("c", "v", "made"), volume("v", None), CLASS], pod("c"), set()),
    ],
)
def test_which_volumes_are_attached(objects: list[str], asked: Any, expected: set[Any]) -> None:
    """Source: getCSIDriverInfo."""
    given = context(objects)
    assert attachable(asked, given) == expected
    assert (NodeVolumeLimits().pre_filter(PodInfo(asked), given).state is SKIP) is not bool(expected)


@pytest.mark.parametrize(
    ("gate", "prevents", "installed", "expected"),
    [
        (True, True, False, False),
        (True, True, True, True),
        (True, False, False, True),
        (False, True, False, True),
        (True, None, False, True),
    ],
    ids=["missing", "installed", "not required", "gate off", "unknown driver"],
)
def test_a_required_driver_that_is_missing(gate: bool, prevents: bool | None, installed: bool, expected: bool) -> None:
    """Source: checkCSIDriverOnNode."""
    objects = [*TWO, *([limit("a", None), limit("b", None)] if installed else [])]
    if prevents is not None:
        spec = f"spec: {{preventPodSchedulingIfMissing: {str(prevents).lower()}}}\n"
        objects.append(f"apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {{name: {CSI}}}\n{spec}")
    given = context(objects, gates={"VolumeLimitScaling": gate})
    assert passing(pod("c1"), given) == (["a", "b"] if expected else [])
