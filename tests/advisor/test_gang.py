"""Kubernetes' pod groups: members counted, conditions read, no quorum computed."""

from __future__ import annotations

import pytest

from tests.advisor.dumps import asked, dump, node, pod, some, words

GROUP = """
- apiVersion: scheduling.k8s.io/v1beta1
  kind: PodGroup
  metadata: {name: gang, namespace: default}
  spec: {schedulingPolicy: POLICY}
  status: {conditions: CONDITIONS}
"""
NAMED = {"schedulingGroup": {"podGroupName": "gang"}}
REFUSED = """[{type: PodGroupScheduled, status: "False", reason: Unschedulable, message: no room,
    lastTransitionTime: "2026-08-01T10:02:00Z"}]"""


@pytest.mark.parametrize(
    ("policy", "conditions", "members", "verdict", "said"),
    [
        ("{gang: {minCount: 4}}", "[]", 1, "held", "1 of 4 members exist, 0 have a node; 3 more must be created"),
        ("{gang: {minCount: 2}}", REFUSED, 2, "held", "kube-scheduler said at 2026-08-01 10:02 UTC: group gang cannot"),
        ("{gang: {minCount: 2}}", "[]", 2, "uncertain", "they are scheduled together or not at all"),
        ("{basic: {}}", "[]", 1, "fits", "are scheduled one by one"),
    ],
)
def test_a_group_is_told_by_its_object_and_its_members(
    policy: str, conditions: str, members: int, verdict: str, said: str
) -> None:
    pods = [pod(f"p{i}", spec=NAMED) for i in range(members)]
    found = dump(node("n1"), *pods, *some(GROUP.replace("POLICY", policy).replace("CONDITIONS", conditions)))
    answer = asked(found, "p0")
    assert answer.verdict == verdict and said in words(answer)
    assert (answer.stage == "gang") == (verdict == "held")


def test_a_workload_of_1_35_is_read_too() -> None:
    workload = some("""
- apiVersion: scheduling.k8s.io/v1alpha1
  kind: Workload
  metadata: {name: train, namespace: default}
  spec: {podGroups: [{name: workers, policy: {gang: {minCount: 3}}}]}
""")
    one = pod("p", spec={"workloadRef": {"name": "train", "podGroup": "workers"}})
    answer = asked(dump(node("n1"), one, *workload))
    assert answer.stage == "gang" and "group train/workers: 1 of 3 members exist" in words(answer)
