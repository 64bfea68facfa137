"""DynamicResources: claims gate pods, choose nodes, are reserved and written, and what happens to them wakes pods."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.devices import ResourceClaim
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict, load
from kitlib.scheduler.driver import Driver
from kitlib.scheduler.framework.dra_manager import Known
from kitlib.scheduler.framework.plugin import Context, Plugin
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.plugins.dynamicresources.plugin import DynamicResources
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.plugins.dynamicresources.claimed_pods import claim, pod

DEVICES = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: gpu.example.com
  nodeName: a
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {size: {string: large}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: b}
spec:
  driver: gpu.example.com
  nodeName: b
  pool: {name: b, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {size: {string: small}}}, {name: gpu-1, attributes: {size: {string: small}}}]
"""
HOPELESS = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."


def nodes() -> list[Node]:
    def one(name: str) -> Node:
        status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}
        return from_dict(
            {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "status": status}, Node
        )

    return [one(name) for name in "abc"]


def scheduler(*claims: ResourceClaim, without: tuple[str, ...] = (), **more: Any) -> Scheduler:
    objects = [obj for obj in load(DEVICES) if obj.kind not in without]
    return Scheduler(nodes(), claims=[*objects, *claims], **more)


def test_a_pod_whose_claims_are_not_there_does_not_enter_the_queue() -> None:
    gate = scheduler().explain(pod("p", "one")).gate
    assert gate is not None and gate.plugin == "DynamicResources"
    assert gate.message == 'could not find ResourceClaim "default/one"'
    gate = scheduler().explain(pod("p", template="t")).gate
    assert gate is not None and gate.message == 'pod "default/p": ResourceClaim not created yet'
    going = claim()
    going.metadata.deletion_timestamp = from_dict({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, Pod)
    gate = scheduler(going).explain(pod("p", "one")).gate
    assert gate is not None and gate.message == 'resourceclaim "one" is being deleted'


def test_a_pod_goes_where_its_claim_finds_devices_and_the_claim_is_written() -> None:
    made = scheduler(claim())
    decision = made.schedule(pod("p", "one"))
    assert decision.suggested_host == "a" and set(decision.feasible) == {"a", "b"}
    assert decision.reasons_of("c") == ["cannot allocate all claims"]
    written = made.context.claims.find("default", "one")
    assert written is not None and written.status.allocation is not None
    (result,) = written.status.allocation.devices.results
    assert (result.driver, result.pool, result.device) == ("gpu.example.com", "a", "gpu-0")
    assert [(user.resource, user.name, user.uid) for user in written.status.reserved_for] == [("pods", "p", "p")]
    assert not made.context.claims.pending
    assert [(point, plugin) for point, plugin, _ in decision.binding.asked] == [  # type: ignore[union-attr]
        ("Reserve", "DynamicResources"),
        ("PreBind", "DynamicResources"),
        ("Bind", "DefaultBinder"),
    ]


def test_pods_without_claims_are_not_asked_about_them() -> None:
    decision = scheduler().schedule(pod("p"))
    assert decision.filters is not None and "DynamicResources" not in decision.filters.plugins
    assert [point for point, _, _ in decision.binding.asked] == ["Bind"]  # type: ignore[union-attr]
    assert decision.scores is not None and "DynamicResources" not in decision.scores.raw


def test_explaining_changes_nothing() -> None:
    made = scheduler(claim(), claim("two", on="c"))
    before = dict(made.context.claims.claims)
    made.explain(pod("p", "one"))
    made.explain(pod("q", "two", nodeSelector={"kubernetes.io/hostname": "a"}))
    assert made.context.claims.claims == before and not made.context.claims.pending


def test_when_all_devices_are_taken_the_message_is_kubernetes() -> None:
    made = scheduler(*(claim(f"c{i}") for i in range(4)))
    placed = [made.schedule(pod(f"p{i}", f"c{i}")) for i in range(4)]
    assert sorted(one.suggested_host for one in placed) == ["", "a", "b", "b"]
    assert placed[3].message == (
        f"0/3 nodes are available: 3 cannot allocate all claims. still not schedulable, {HOPELESS}"
    )
    assert placed[3].unschedulable_plugins == ["DynamicResources"]


def test_a_class_that_is_missing_rejects_the_pod_before_any_node() -> None:
    decision = scheduler(claim(), without=("DeviceClass",)).explain(pod("p", "one"))
    assert decision.message == (
        f"0/3 nodes are available: request r: device class gpu does not exist. no new claims to deallocate, {HOPELESS}"
    )
    assert "before looking at any node" in decision.explain()


def test_pods_that_share_a_claim_go_to_its_devices() -> None:
    made = scheduler(claim())
    first, second = made.schedule(pod("p", "one")), made.schedule(pod("q", "one"))
    assert first.suggested_host == second.suggested_host == "a"
    assert second.reasons_of("b") == ["resourceclaim not available on the node"]
    written = made.context.claims.find("default", "one")
    assert written is not None and [user.name for user in written.status.reserved_for] == ["p", "q"]


def test_a_claim_has_at_most_256_users() -> None:
    full = claim(on="a", users=tuple(f"u{i}" for i in range(256)))
    made = scheduler(full)
    decision = made.schedule(pod("p", "one"))
    assert not decision.suggested_host
    assert decision.message == (
        'running PreBind plugin "DynamicResources": add reservation to claim default/one: '
        'ResourceClaim.resource.k8s.io "one" is invalid: '
        "status.reservedFor: Too many: 257: must have at most 256 items"
    )


def test_a_claim_in_the_wrong_place_loses_its_devices_where_nobody_else_uses_it() -> None:
    made = scheduler(claim(on="a", users=("p",)))
    there = {"kubernetes.io/hostname": "b"}
    first = made.schedule(pod("p", "one", nodeSelector=there))
    assert "deallocation of ResourceClaim completed, preemption" in first.message
    freed = made.context.claims.find("default", "one")
    assert freed is not None and freed.status.allocation is None and not freed.status.reserved_for
    assert made.schedule(pod("p", "one", nodeSelector=there)).suggested_host == "b"
    used = scheduler(claim(on="a", users=("other",)))
    decision = used.schedule(pod("p", "one", nodeSelector=there))
    assert "still not schedulable" in decision.message
    kept = used.context.claims.find("default", "one")
    assert kept is not None and kept.status.allocation is not None


def test_an_error_in_a_selector_ends_the_cycle_with_its_text() -> None:
    broken = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": 'device.attributes["x.y"].z == 1'}}]}
    decision = scheduler(claim(request={"name": "r", "exactly": broken})).explain(pod("p", "one"))
    assert decision.failed and decision.post_filter is None and decision.unschedulable_plugins == []
    assert decision.message == (
        'running "DynamicResources" filter plugin: claim default/one: selector #0: CEL runtime error: no such key: z'
    )
    assert "cannot decide about pod default/p" in decision.explain()


def test_nodes_with_the_first_alternative_are_preferred_since_1_35() -> None:
    def sub(size: str) -> dict[str, Any]:
        text = f'device.attributes["gpu.example.com"].size == "{size}"'
        return {"name": size, "deviceClassName": "gpu", "selectors": [{"cel": {"expression": text}}]}

    asked = {"name": "r", "firstAvailable": [sub("small"), sub("large")]}
    decision = scheduler(claim(request=asked)).explain(pod("p", "one"))
    assert decision.scores is not None
    assert decision.scores.raw["DynamicResources"].tolist() == [7, 8]
    assert decision.scores.normalized["DynamicResources"].tolist() == [87, 100]
    assert decision.suggested_host == "b"
    older = scheduler(claim(request=asked), release=Release("1.34")).explain(pod("p", "one"))
    assert older.scores is not None and "DynamicResources" not in older.scores.raw


def test_releases_without_the_feature_do_not_look_at_claims() -> None:
    decision = scheduler(release=Release("1.33")).schedule(pod("p", "nobody"))
    assert decision.suggested_host == "a"


class Refuses(Plugin):
    """Stops a pod at the point that it is told."""

    name = "Refuses"

    def __init__(self, point: str) -> None:
        super().__init__()
        self.point = point

    def permit(self, info: Any, node: Any) -> Status:
        return Status(Code.Wait if self.point == "wait" else Code.Unschedulable, ("no",)) if self.point else SUCCESS


def test_devices_are_given_back_where_a_later_plugin_refuses() -> None:
    profile = Profile.default()
    profile.plugins.append(Refuses("permit"))
    made = scheduler(claim(), profile=profile)
    assert made.schedule(pod("p", "one")).message == "no"
    standing = made.context.claims.find("default", "one")
    assert standing is not None and standing.status.allocation is None and not made.context.claims.pending


def test_what_a_waiting_pod_was_given_is_not_given_to_others() -> None:
    profile = Profile.default()
    profile.plugins.append(Refuses("wait"))
    made = scheduler(claim(), claim("two"), profile=profile)
    assert made.schedule(pod("p", "one")).suggested_host == "a"
    assert made.context.claims.pending.keys() == {"one"}
    rejected = made.explain(pod("q", "one"))
    assert rejected.filters is not None
    assert rejected.filters.status.message == "resource claim default/one is in the process of being allocated"
    assert made.explain(pod("q", "two")).feasible == ["b"]  # a's only device is promised
    assert made.schedule(pod("q", "two")).suggested_host == "b"
    assert made.allow(pod("p", "one")).suggested_host == "a"
    written = made.context.claims.find("default", "one")
    assert written is not None and written.status.allocation is not None


def test_a_claim_that_was_allocated_elsewhere_meanwhile_is_not_overwritten() -> None:
    profile = Profile.default()
    profile.plugins.append(Refuses("wait"))
    made = scheduler(claim(), profile=profile)
    made.schedule(pod("p", "one"))
    made.context.claims.put(claim(on="b"))
    why = "claim default/one got allocated elsewhere in the meantime"
    assert made.allow(pod("p", "one")).message == f'running PreBind plugin "DynamicResources": {why}'
    standing = made.context.claims.find("default", "one")
    assert standing is not None and standing.status.allocation is not None
    assert standing.status.allocation.devices.results[0].pool == "b"


def driver(*claims: ResourceClaim) -> Driver:
    return Driver(nodes(), claims=[*load(DEVICES), *claims])


def test_a_pod_is_gated_until_its_claim_comes() -> None:
    made = driver()
    made.add_pod(pod("p", "one"))
    assert made.waiting()["gated"] == ["p"] and made.run() == []
    made.put(claim("other"))
    assert made.waiting()["gated"] == ["p"]
    made.put(claim())
    assert [decision.suggested_host for decision in made.run(5)] == ["a"]


def test_a_pod_wakes_when_devices_become_free_and_not_by_other_claims() -> None:
    made = driver(*(claim(f"c{i}") for i in range(4)))
    for i in range(4):
        made.add_pod(pod(f"p{i}", f"c{i}"))
    made.run()
    assert made.waiting()["unschedulable"] == ["p3"]
    made.put(claim("unrelated"))
    made.run(30)
    assert made.waiting()["unschedulable"] == ["p3"]
    made.delete_pod("p0")
    made.run(30)
    assert made.pod("p3").spec.node_name == "a"


def test_a_new_class_and_a_new_slice_wake_pods() -> None:
    slices = [obj for obj in load(DEVICES) if obj.kind == "ResourceSlice"]
    made = Driver(nodes(), [pod("p", "one")], claims=[*slices, claim()])
    made.run()
    assert made.waiting()["unschedulable"] == ["p"]
    made.put(next(obj for obj in load(DEVICES) if isinstance(obj, Known) and obj.kind == "DeviceClass"))
    made.run(30)
    assert made.pod("p").spec.node_name == "a"


def test_a_pod_whose_claim_was_freed_is_tried_again_by_itself() -> None:
    made = driver(claim(on="a", users=("p",)))
    made.add_pod(pod("p", "one", nodeSelector={"kubernetes.io/hostname": "b"}))
    made.run(30)
    assert made.pod("p").spec.node_name == "b"


def test_a_request_with_alternatives_needs_the_feature() -> None:
    """Source: DynamicResources.PreFilter; DRAPrioritizedList is on since 1.34."""
    asked = {"name": "r", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]}
    for made, release, refused in (
        (claim(request=asked), "1.36", False),
        (claim(request=asked), "1.36-", True),
        (claim(), "1.36-", False),
    ):
        gates = {"DRAPrioritizedList": False} if release.endswith("-") else {}
        followed = Release(release.removesuffix("-")).with_gates(gates)
        scheduler = Scheduler(nodes(), claims=[*load(DEVICES), made], release=followed)
        found = scheduler.explain(pod("p", "one"))
        assert ("has subrequests, but the DRAPrioritizedList feature is disabled" in found.filter_message) is refused
        assert bool(found.suggested_host) is not refused


def test_a_missing_claim_gates_a_pod_while_the_feature_is_on() -> None:
    for on in (True, False):
        context = Context(Snapshot(), Release("1.34").with_gates({"DynamicResourceAllocation": on}))
        plugin = DynamicResources()
        assert plugin.pre_enqueue_in(pod("plain"), context).ok
        assert plugin.pre_enqueue_in(pod("p", "gone"), context).ok is not on
