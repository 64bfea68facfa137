"""A release as it is handed from room to room."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.api.release import LOCKED, RELEASES, Release


def test_a_release_that_is_handed_on_keeps_its_gates():
    changed = Release("1.30", {"MemoryQoS": True})
    assert Release.of(changed).enabled("MemoryQoS")
    assert Release.of(changed, {"NodeSwap": False}).enabled("MemoryQoS")
    assert (Release.of("v1.30.2").name, Release.of(None)) == ("1.30", Release.latest())


@pytest.mark.parametrize(
    ("release", "gates", "said"),
    [
        ("1.36", {"MinDomainsInPodTopologySpread": False}, ["MinDomainsInPodTopologySpread to false"]),
        ("1.36", {"MinDomainsInPodTopologySpread": True}, []),
        ("1.29", {"MinDomainsInPodTopologySpread": False}, []),
        ("1.36", {"SidecarContainers": False, "NodeSwap": False}, ["NodeSwap to false", "SidecarContainers to false"]),
        ("1.35", {"DRAAdminAccess": False}, []),
        ("1.36", {"MemoryQoS": True, "DRAAdminAccess": True}, []),
    ],
)
def test_a_gate_that_is_locked_to_its_default_cannot_be_changed(release: str, gates: dict[str, bool], said: list[str]):
    wanted = [f"cannot set feature gate {one}, feature is locked to true" for one in said]
    assert Release(release).refused(gates) == wanted
    if wanted:
        with pytest.raises(KitError, match="; ".join(wanted)):
            Release.of(release, gates)
    else:
        assert Release.of(release, gates).enabled(next(iter(gates))) is next(iter(gates.values()))


def test_every_locked_gate_is_on_and_stands_in_the_table_from_the_release_on_in_which_it_is_locked():
    for gate, since in LOCKED.items():
        assert not Release(f"1.{since - 1}").refused({gate: False})
        for minor in range(since, int(RELEASES[-1].split(".")[1]) + 1):
            release = Release(f"1.{minor}")
            assert release.enabled(gate) and release.refused({gate: False}), (gate, minor)
            assert not release.with_gates({gate: False}).enabled(gate)  # to see what would be different


def test_a_gate_of_a_later_release_is_not_known():
    assert Release("1.31").refused({"PodLevelResources": True}) == ["unrecognized feature gate: PodLevelResources"]
    assert Release("1.32").refused({"PodLevelResources": True}) == []


def test_a_gate_that_the_kit_has_no_use_for_is_let_through():
    assert Release.of("1.36", {"KubeletPSI": False}).enabled("KubeletPSI") is False


@pytest.mark.parametrize(
    ("release", "setting", "value"),
    [
        ("1.26", "memoryThrottlingFactor", 0.8),
        ("1.36", "memoryThrottlingFactor", 0.9),
        ("1.30", "failCgroupV1", None),
        ("1.34", "failCgroupV1", False),
        ("1.36", "failCgroupV1", True),
    ],
)
def test_a_default_is_that_of_the_release(release: str, setting: str, value: object):
    assert Release(release).default(setting) == value


def test_a_setting_without_a_row_is_refused_with_the_rows():
    with pytest.raises(KitError, match=r"setting 'maxPods': valid values: .*memoryThrottlingFactor"):
        Release("1.36").default("maxPods")
