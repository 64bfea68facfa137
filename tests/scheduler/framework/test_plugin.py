"""The base of plugins: what it answers where nothing is overridden, and the cluster as plugins see it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitlib.api.core import Pod
from kitlib.api.devices import DeviceClass
from kitlib.api.meta import ObjectMeta
from kitlib.api.release import Release
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.framework.events import EVERYTHING
from kitlib.scheduler.framework.plugin import SKIP, Context, Plugin, default_normalize
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import NOOP
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import Code, Status
from kitlib.scheduler.framework.volumes import Volumes
from tests.scheduler.builders import node, pod


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        ([], False, []),
        ([0, 0], False, [0, 0]),
        ([0, 0], True, [100, 100]),
        ([1, 2, 4], False, [25, 50, 100]),
        ([1, 2, 3], False, [33, 66, 100]),
        ([1, 2, 3], True, [67, 34, 0]),
        ([0, 7], True, [100, 0]),
    ],
)
def test_the_highest_score_becomes_100(scores: list[int], reverse: bool, expected: list[int]) -> None:
    """Source: helper.DefaultNormalizeScore, which divides integers."""
    assert default_normalize(np.array(scores, np.int64), reverse=reverse).tolist() == expected


def context(release: str = "1.36") -> Context:
    return Context(Snapshot([node("a")]), Release(release))


def test_the_base_lets_every_pod_pass() -> None:
    plugin, info, made, rows = Plugin(), PodInfo(pod("p")), context(), np.array([0])
    a = made.snapshot.nodes[0]
    assert all(
        status.ok
        for status in (
            plugin.pre_enqueue(info.pod),
            plugin.pre_enqueue_in(info.pod, made),
            plugin.pre_filter(info, made).status,
            plugin.reserve(info, a),
            plugin.permit(info, a),
            plugin.pre_bind(info, a),
            plugin.pre_bind_again(info, a, 1),
        )
    )
    assert plugin.filter(None, info, made, rows).codes.tolist() == [0]
    assert plugin.score(None, info, made, rows).tolist() == [0]
    assert plugin.normalize(None, rows) is rows
    # another Bind plugin binds the pod, and no event is excluded
    assert plugin.bind(info, a) == Status(Code.Skip)
    assert plugin.events_to_register(made) == EVERYTHING
    found = plugin.post_filter(None, info, made)  # type: ignore[arg-type]
    assert (found.code, found.nominating_mode) == (Code.Unschedulable, NOOP)
    assert plugin.affected_by_placement(info, made) is None, "each pod needs a whole cycle"
    assert repr(SKIP) == "SKIP"


def test_a_plugin_takes_part_at_the_points_that_it_overrides() -> None:
    class Own(Plugin):
        def filter(self, state: Any, info: Any, context: Any, rows: Any) -> Any:
            return super().filter(state, info, context, rows)

        def pre_enqueue_in(self, pod: Pod, context: Any) -> Status:
            return Status(Code.Unschedulable)

    points = ("pre_enqueue", "pre_filter", "filter", "pre_score", "score", "reserve", "bind")
    assert [point for point in points if Own().takes_part(point)] == ["pre_enqueue", "filter"]
    assert [point for point in points if Plugin().takes_part(point)] == []


def test_arguments_are_copied() -> None:
    given = {"a": 1}
    plugin = Plugin(given)
    given["a"] = 2
    assert plugin.arguments == {"a": 1} and Plugin().arguments == {}


def test_objects_of_storage_and_devices_are_made_and_connected_when_they_are_needed() -> None:
    made, connected = context(), []
    made.connect(storage=lambda one: connected.append(one), devices=lambda one: connected.append(one))
    assert made.storage is None and made.devices is None and made.device_classes == {} and connected == []
    volumes, claims = made.volumes, made.claims
    assert connected == [volumes, claims]
    assert made.volumes is volumes and made.claims is claims and len(connected) == 2


def test_known_objects_are_connected_at_once() -> None:
    made, connected = context(), []
    volumes, claims = made.volumes, made.claims
    made.connect(storage=lambda one: connected.append(one))
    assert connected == [volumes]
    made.connect(devices=lambda one: connected.append(one))
    assert connected == [volumes, claims]


def test_other_storage_objects_keep_what_was_assumed() -> None:
    made, connected = context(), []
    made.connect(storage=lambda one: connected.append(one))
    first, second = made.volumes, Volumes()
    made.set_volumes(second)
    assert made.volumes is second and second.assumed is first.assumed
    assert connected == [first], "the second one follows the first, which is connected"


@pytest.mark.parametrize("on", [True, False])
def test_taint_rules_apply_with_their_gate(on: bool) -> None:
    made = Context(Snapshot(), Release("1.36").with_gates({"DRADeviceTaintRules": on}))
    claims = DRAManager()
    claims.put(DeviceClass(metadata=ObjectMeta(name="gpu")))
    made.set_claims(claims)
    assert claims.obeys_rules is on
    assert list(made.device_classes) == ["gpu"]
