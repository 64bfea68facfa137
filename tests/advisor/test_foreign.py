"""What other controllers' objects say, with the controller's name and the time."""

from __future__ import annotations

import pytest

from kitlib.advisor.foreign import foreign_owner
from tests.advisor.dumps import asked, dump, node, pod, some, words

KUEUE = """
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: Workload
  metadata: {name: wl, namespace: default, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: uid-p}]}
  spec:
    queueName: user
    podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}}]
  status: STATUS
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: LocalQueue
  metadata: {name: user, namespace: default}
  spec: {clusterQueue: team}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ClusterQueue
  metadata: {name: team}
  spec: {STOPPEDresourceGroups: [{flavors: [{name: default, resources: [{name: cpu, nominalQuota: "10"}]}]}]}
  status: {flavorsReservation: [{name: default, resources: [{name: cpu, total: "9600m"}]}]}
"""
WAITS = """{conditions: [{type: QuotaReserved, status: "False", reason: Pending, message: no quota,
    lastTransitionTime: "2026-08-01T10:02:00Z"}]}"""
CHECK = """{conditions: [{type: QuotaReserved, status: "True"}],
    admissionChecks: [{name: prov, state: Pending, message: waiting for nodes}]}"""
ADMITTED = '{conditions: [{type: QuotaReserved, status: "True"}, {type: Admitted, status: "True"}]}'
GATED = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}


def queued(status: str, stopped: str = "") -> str:
    return KUEUE.replace("STATUS", status).replace("STOPPED", stopped)


def test_kueue_says_that_no_quota_is_left_and_the_numbers_stand_beside_it() -> None:
    answer = asked(dump(node("n1"), pod("p", cpu="2", spec=GATED), *some(queued(WAITS))))
    assert answer.stage == "queue" and not answer.remedies
    assert str(answer.held) == "Kueue said at 2026-08-01 10:02 UTC: no quota is reserved: no quota"
    assert "400m of 10 cpu left in flavor default, 2 asked" in words(answer)


@pytest.mark.parametrize(
    ("status", "stopped", "stage", "said"),
    [
        (CHECK, "", "queue", "the admission check prov is Pending: waiting for nodes"),
        (ADMITTED, "", "gate", "the Workload is admitted"),
        (WAITS, "stopPolicy: Hold, ", "queue", "ClusterQueue team is stopped (spec.stopPolicy: Hold)"),
    ],
)
def test_checks_and_stopped_queues_are_read(status: str, stopped: str, stage: str, said: str) -> None:
    answer = asked(dump(node("n1"), pod("p", cpu="2", spec=GATED), *some(queued(status, stopped))))
    assert answer.stage == stage and said in words(answer)


def test_a_pod_without_kueues_gate_is_not_held_by_its_workload() -> None:
    assert asked(dump(node("n1"), pod("p", cpu="2"), *some(queued(WAITS)))).verdict == "fits"


VOLCANO = """
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: PodGroup
  metadata: {name: pg, namespace: default}
  spec: {minMember: 3, queue: q, minResources: {cpu: "6"}}
  status:
    phase: PHASE
    conditions:
    - {type: Unschedulable, status: "True", reason: NotEnoughResources, lastTransitionTime: "2026-08-01T10:02:00Z"}
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: Queue
  metadata: {name: q}
  spec: {capability: {cpu: "8"}}
  status: {state: Open, allocated: {cpu: "5"}}
"""


@pytest.mark.parametrize(("phase", "stage"), [("Pending", "queue"), ("Inqueue", "gang")])
def test_volcanos_group_tells_queue_and_gang_apart(phase: str, stage: str) -> None:
    """volcano-sh/volcano#3834: pending, and no reason."""
    one = pod("p", spec={"schedulerName": "volcano"}, meta={"annotations": {"scheduling.k8s.io/group-name": "pg"}})
    for name in ("p", "podgroup/pg"):
        answer = asked(dump(node("n1"), one, *some(VOLCANO.replace("PHASE", phase))), name)
        assert (answer.stage, answer.exit_code) == (stage, 1)
        assert "Volcano said at 2026-08-01 10:02 UTC" in words(answer) and "1 of 3 members exist" in words(answer)
        assert "Queue q is Open: 3 of 8 cpu left, 6 asked" in words(answer)


def test_karpenters_limits_and_claims_are_told_where_no_node_fits() -> None:
    pools = some("""
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata: {name: default}
  spec: {limits: {cpu: "100"}}
  status: {resources: {cpu: "100"}}
- apiVersion: karpenter.sh/v1
  kind: NodeClaim
  metadata: {name: c1}
  status: {conditions: [{type: Launched, status: "False", reason: InsufficientCapacity, message: no capacity}]}
""")
    answer = asked(dump(node("n1"), pod("p", cpu="9"), *pools))
    assert answer.stage == "filters"
    assert "NodePool default has reached its limit: 100 of 100 cpu" in words(answer)
    assert "NodeClaim c1 is not Launched, InsufficientCapacity: no capacity" in words(answer)


@pytest.mark.parametrize("odd", ["{}", "[1]", "text", "{podSets: [1, {count: x}], limits: [2], conditions: {a: b}}"])
def test_odd_objects_of_others_are_read_without_an_error(odd: str) -> None:
    kinds = "kueue.x-k8s.io/v1beta2 Workload, kueue.x-k8s.io/v1beta2 ClusterQueue, kueue.x-k8s.io/v1beta2 LocalQueue, "
    kinds += "karpenter.sh/v1 NodePool, karpenter.sh/v1 NodeClaim, scheduling.volcano.sh/v1beta1 PodGroup, "
    kinds += "scheduling.volcano.sh/v1beta1 Queue, keda.sh/v1alpha1 ScaledObject, scheduling.k8s.io/v1beta1 PodGroup"
    objects = []
    for one in kinds.split(", "):
        version, kind = one.split()
        meta = "{name: pg, namespace: default, ownerReferences: [{kind: Pod, name: p}]}"
        objects += some(f"- {{apiVersion: {version}, kind: {kind}, metadata: {meta}, spec: {odd}, status: {odd}}}")
    spec = {**GATED, "schedulingGroup": {"podGroupName": "pg"}}
    one = pod("p", cpu="9", spec=spec, meta={"annotations": {"scheduling.k8s.io/group-name": "pg"}})
    assert asked(dump(node("n1"), one, *objects), "p").exit_code in (1, 3)


def test_a_domain_belongs_to_its_controller() -> None:
    assert foreign_owner("kueue.x-k8s.io/admission") == "Kueue"
    assert foreign_owner("scheduling.volcano.sh/queue-allocation-gate") == "Volcano"
    assert foreign_owner("notkueue.x-k8s.io/x") == foreign_owner("wait") == ""
