"""The API server's own plugins come before the policies, and again after them where one has changed anything."""

from __future__ import annotations

import pytest

from kitlib.api.errors import Forbidden
from tests.apiserver.admission.policy.mutations import ALL, cluster, labelled, labels, pod, policy

PODS = {**ALL, "resources": ["pods"]}
SCHEDULING = "scheduling.k8s.io/v1"


def test_a_container_that_a_policy_adds_has_the_defaults_of_its_namespace() -> None:
    limits = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}}
    limit_range = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [limits]}}
    side = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'side', image: 'x'}]}}"
    made = cluster(limit_range, policy("p", side, rule=PODS), pod())
    found = {one.name: one.resources for one in made.pod("web").spec.containers}
    assert found["main"] == found["side"]
    assert str(found["side"].limits["cpu"]) == "1"


def test_policies_see_what_the_plugins_made() -> None:
    seen = labelled("priority", "string(object.spec.priority) + '-' + string(object.spec.tolerations.size())")
    assert labels(cluster(policy("p", seen, rule=PODS), pod())) == {"priority": "0-2"}


def test_a_priority_class_comes_too_late() -> None:
    high = {"apiVersion": SCHEDULING, "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    named = "Object{spec: Object.spec{priorityClassName: 'high'}}"
    with pytest.raises(Forbidden, match=r"the integer value of priority \(0\) must not be provided in pod spec"):
        cluster(high, policy("p", named, rule=PODS), pod())
    both = "[JSONPatch{op: 'add', path: '/spec/priorityClassName', value: 'high'}, "
    both += "JSONPatch{op: 'remove', path: '/spec/priority'}]"
    assert cluster(high, policy("p", both, rule=PODS), pod()).pod("web").spec.priority == 1000
