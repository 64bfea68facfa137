"""Budgets and quotas are counted from objects alone; where a kind was not read, the obstacle is named."""

from __future__ import annotations

import pytest

from kitlib.advisor.counted_statuses import budgeted, fill_in_statuses
from kitlib.api.core import Pod, ResourceQuota
from kitlib.api.meta import KubeObject
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.serialize import load

OBJECTS = """
apiVersion: v1
kind: List
items:
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: two, namespace: shop}
  spec: {minAvailable: 2, selector: {matchLabels: {app: db}}}
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: q, namespace: shop}
  spec: {hard: {pods: "9", services: "4"}}
- apiVersion: v1
  kind: Pod
  metadata: {name: db-0, namespace: shop, labels: {app: db}}
  spec: {nodeName: n0, containers: [{name: c, image: i}]}
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: db-1, namespace: other, labels: {app: db}}
  spec: {containers: [{name: c, image: i}]}
"""


@pytest.fixture
def objects() -> list[KubeObject]:
    return load(OBJECTS)


@pytest.mark.parametrize(("read", "obstacle"), [(True, ""), (False, "objects of services were not read")])
def test_each_uncounted_object_is_returned_with_its_obstacle(
    objects: list[KubeObject], read: bool, obstacle: str
) -> None:
    found = fill_in_statuses(objects, lambda kind: read)
    assert found == {("PodDisruptionBudget", "shop/two"): "", ("ResourceQuota", "shop/q"): obstacle}
    (budget,) = [one for one in objects if isinstance(one, PodDisruptionBudget)]
    (quota,) = [one for one in objects if isinstance(one, ResourceQuota)]
    assert (budget.status.current_healthy, budget.status.disruptions_allowed) == (1, 0)
    assert {name: str(amount) for name, amount in quota.status.used.items()} == {
        "pods": "1",
        **({"services": "0"} if read else {}),
    }


def test_what_is_counted_once_is_not_counted_again(objects: list[KubeObject]) -> None:
    fill_in_statuses(objects, lambda kind: True)
    for one in objects:
        if isinstance(one, PodDisruptionBudget):
            one.status.observed_generation = 1
    assert fill_in_statuses(objects, lambda kind: True) == {}


def test_a_budget_selects_pods_of_its_own_namespace(objects: list[KubeObject]) -> None:
    pods = [one for one in objects if isinstance(one, Pod)]
    (budget,) = [one for one in objects if isinstance(one, PodDisruptionBudget)]
    assert [pod.name for pod in budgeted(pods, budget)] == ["db-0"]
