"""The stages of a pod without a node, and the verdict."""

from __future__ import annotations

from tests.advisor.dumps import asked, dump, node, pod, some, words

QUEUED = {"kueue.x-k8s.io/queue-name": "user"}
GATE = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
PORT = {"ports": [{"containerPort": 80, "hostPort": 80}]}


def test_a_gate_is_left_to_its_owner() -> None:
    answer = asked(dump(node("n1"), pod("p", spec=GATE, meta={"labels": QUEUED})))
    assert (answer.verdict, answer.stage, answer.exit_code) == ("held", "gate", 1)
    assert answer.held is not None and answer.held.owner == "Kueue" and not answer.remedies
    assert "once it is let through, 1 of 1 nodes pass every filter" in words(answer)


def test_behind_a_gate_the_later_stages_are_told_as_well() -> None:
    answer = asked(dump(node("n1", cpu="1"), pod("p", cpu="2", spec={"schedulingGates": [{"name": "wait"}]})))
    assert answer.stage == "gate" and "once it is let through, 0/1 nodes are available" in words(answer)


def test_the_holder_of_a_port_is_named_and_its_departure_helps() -> None:
    answer = asked(dump(node("n1"), pod("old", on="n1", container=PORT), pod("new", container=PORT)))
    assert answer.stage == "filters"
    assert "host port 80/TCP is taken by: default/old on n1" in words(answer)
    assert "move or delete default/old: it goes to n1" in map(str, answer.remedies)


def test_the_partner_of_an_anti_affinity_is_named() -> None:
    term = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
    anti = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    found = dump(node("n1"), pod("one", on="n1", meta={"labels": {"a": "b"}}), pod("two", spec=anti))
    assert "the pod's anti-affinity forbids the same kubernetes.io/hostname as: default/one on n1" in words(
        asked(found)
    )


def test_numbers_say_what_is_asked_and_what_is_left() -> None:
    answer = asked(dump(node("n1"), pod("one", cpu="3", on="n1"), pod("two", cpu="2")))
    assert "cpu: 2 asked; the most that is left on a rejected node is 1 of 4 on n1" in words(answer)


def test_preemption_is_a_stage_of_its_own() -> None:
    low = pod("low", cpu="3", on="n1", spec={"priority": 0})
    answer = asked(dump(node("n1"), low, pod("high", cpu="2", spec={"priority": 100})))
    assert (answer.stage, answer.exit_code) == ("preemption", 1)
    assert answer.held is not None and answer.held.objects == ("Pod default/low",)


def test_a_pod_waits_for_preempted_pods_to_end() -> None:
    going = {"deletionTimestamp": "2026-08-01T10:00:00Z", "deletionGracePeriodSeconds": 30}
    low = pod("low", cpu="3", on="n1", spec={"priority": 0}, meta=going)
    high = pod("high", cpu="2", spec={"priority": 100}, status={"nominatedNodeName": "n1"})
    answer = asked(dump(node("n1"), low, high), "high")
    assert answer.stage == "preemption" and "1 pod there still ends: default/low" in words(answer)


def test_a_missing_namespace_makes_the_answer_about_a_namespace_selector_uncertain() -> None:
    term = {
        "labelSelector": {"matchLabels": {"a": "b"}},
        "namespaceSelector": {"matchLabels": {"team": "x"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    other = pod("one", on="n1", namespace="shop", meta={"labels": {"a": "b"}})
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "x"}}}
    without = asked(dump(node("n1"), other, pod("two", spec=near)))
    assert without.exit_code == 3 and [gap.kind for gap in without.gaps] == ["Namespace"]
    assert asked(dump(node("n1"), other, pod("two", spec=near), shop)).exit_code == 0


CLAIMED = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
STORAGE = """
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: default}
  spec: {storageClassName: zfs, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
  status: {phase: Pending}
- apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata: {name: zfs}
  provisioner: zfs.csi.openebs.io
  volumeBindingMode: WaitForFirstConsumer
"""


def test_storage_capacity_that_was_not_read_makes_the_answer_uncertain() -> None:
    """openebs/zfs-localpv#400."""
    answer = asked(dump(node("n1"), pod("p", spec=CLAIMED), *some(STORAGE)))
    assert answer.exit_code == 3 and {gap.kind for gap in answer.gaps} == {"CSINode", "CSIDriver"}


def test_a_claim_waits_for_its_provisioner_on_the_selected_node() -> None:
    """openebs/lvm-localpv#31."""
    storage = some(STORAGE)
    storage[0]["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "n1"}
    answer = asked(dump(node("n1"), pod("p", spec=CLAIMED), *storage, listed=("CSINode", "CSIDriver")))
    assert answer.stage == "binding" and "claim data waits for its provisioner on the selected node n1" in words(answer)


def test_attached_volumes_are_counted() -> None:
    bound = """
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: NAME, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
  spec: {volumeName: pv-NAME, accessModes: [ReadWriteOnce], storageClassName: ebs}
  status: {phase: Bound}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: pv-NAME}
  spec: {csi: {driver: ebs, volumeHandle: NAME}, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}
"""
    node_drivers = some(
        "- {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1},"
        " spec: {drivers: [{name: ebs, nodeID: x, allocatable: {count: 1}}]}}"
    )
    first = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "one"}}]}
    second = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "two"}}]}
    objects = [*some(bound.replace("NAME", "one")), *some(bound.replace("NAME", "two")), *node_drivers]
    answer = asked(dump(node("n1"), pod("a", on="n1", spec=first), pod("b", spec=second), *objects))
    assert answer.stage == "volumes" and "n1: 1 of 1 volumes of ebs are attached, 1 asked" in words(answer)
    assert "move default/a with its volumes away from n1: it goes to n1" in map(str, answer.remedies)


def test_the_number_of_pods_is_told_where_it_is_the_limit_and_only_there() -> None:
    full = asked(dump(node("n1", pods="1"), pod("one", on="n1"), pod("two")))
    assert "pods: 1 asked; the most that is left on a rejected node is 0 of 1 on n1" in words(full)
    assert "pods:" not in words(asked(dump(node("n1"), pod("one", cpu="4", on="n1"), pod("two"))))


WINDOWS = {"os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}}


def test_a_remedy_never_places_a_pod_where_the_kubelet_refuses_its_operating_system() -> None:
    taint = [{"key": "os", "value": "windows", "effect": "NoSchedule"}]
    machine = node("w1", labels={"kubernetes.io/os": "windows"}, taints=taint)
    answer = asked(dump(machine, node("l1"), pod("iis", spec=WINDOWS)))
    assert [str(one) for one in answer.remedies] == ["tolerate the taint os=windows:NoSchedule: it goes to w1"]


def test_a_pod_of_another_operating_system_is_held_by_the_kubelet_of_its_node() -> None:
    answer = asked(dump(node("l1"), pod("iis", spec={"os": {"name": "windows"}})))
    assert (answer.stage, answer.exit_code) == ("admission", 1) and "PodOSNotSupported" in words(answer)


def test_a_windows_pod_on_a_windows_node_is_not_refused() -> None:
    machine = node("w1", labels={"kubernetes.io/os": "windows"})
    assert asked(dump(machine, pod("iis", spec=WINDOWS))).exit_code == 0
    bound = pod("iis", on="w1", spec=WINDOWS, status={"phase": "Pending"})
    assert asked(dump(machine, bound), "iis").exit_code == 0
