"""Admission: priorities, limit ranges and quotas decide in Kubernetes' words."""

from __future__ import annotations

import pytest

from kitlib.api.core import LimitRange, Pod, ResourceQuota
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import Forbidden
from kitlib.api.policy import PriorityClass
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission import limit_range, quota
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.priority import admit_priority, check_priority_class, system_priority_classes
from kitlib.apiserver.store.kinds import resource

PODS = resource("Pod")


def pod(name: str = "p", requests: dict | None = None, limits: dict | None = None, **spec: object) -> Pod:
    resources = {"requests": requests or {}, "limits": limits or {}}
    container = {"name": "c", "image": "i", "resources": resources}
    return set_defaults(from_dict({"metadata": {"name": name}, "spec": {"containers": [container], **spec}}, Pod))


def make_limits(**item: object) -> LimitRange:
    return set_defaults(from_dict({"metadata": {"name": "l"}, "spec": {"limits": [item]}}, LimitRange))


def make_quota(hard: dict, used: dict | None = None, **spec: object) -> ResourceQuota:
    data = {"metadata": {"name": "team"}, "spec": {"hard": hard, **spec}, "status": {"used": used or {}}}
    return from_dict(data, ResourceQuota)


def test_a_pod_without_a_class_gets_the_default_class() -> None:
    default = from_dict({"metadata": {"name": "mid"}, "value": 5, "globalDefault": True}, PriorityClass)
    admitted = admit_priority(pod(), [*system_priority_classes(), default])
    assert (admitted.spec.priority_class_name, admitted.spec.priority) == ("mid", 5)
    assert admit_priority(pod(), []).spec.priority == 0


def test_a_second_default_class_is_refused() -> None:
    standing = from_dict({"metadata": {"name": "a"}, "value": 1, "globalDefault": True}, PriorityClass)
    second = from_dict({"metadata": {"name": "b"}, "value": 2, "globalDefault": True}, PriorityClass)
    with pytest.raises(Forbidden, match="a is already marked"):
        check_priority_class(second, [standing])


def test_a_limit_range_fills_in_what_a_container_lacks_and_notes_it() -> None:
    limits = make_limits(type="Container", default={"cpu": "500m"}, defaultRequest={"cpu": "250m", "memory": "64Mi"})
    admitted = limit_range.apply_defaults(pod(), [limits])
    assert to_dict(admitted.spec.containers[0].resources) == {
        "requests": {"cpu": "250m", "memory": "64Mi"},
        "limits": {"cpu": "500m"},
    }
    note = admitted.metadata.annotations["kubernetes.io/limit-ranger"]
    assert note == "LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c"


@pytest.mark.parametrize(
    ("item", "made", "words"),
    [
        (
            {"min": {"cpu": "100m"}},
            pod(requests={"cpu": "50m"}),
            "minimum cpu usage per Container is 100m, but request is",
        ),
        (
            {"max": {"cpu": "1"}},
            pod(requests={"cpu": "50m"}),
            "maximum cpu usage per Container is 1.  No limit is specified",
        ),
        ({"max": {"cpu": "1"}}, pod(limits={"cpu": "2"}), "maximum cpu usage per Container is 1, but limit is 2"),
        (
            {"maxLimitRequestRatio": {"memory": "2"}},
            pod(requests={"memory": "10Mi"}, limits={"memory": "30Mi"}),
            "memory max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
    ],
)
def test_a_container_outside_the_range_is_refused(item: dict, made: Pod, words: str) -> None:
    with pytest.raises(Forbidden, match=words):
        limit_range.check(made, [make_limits(type="Container", **item)])


def test_a_quota_is_charged_until_it_is_full() -> None:
    team = make_quota({"pods": "2", "requests.cpu": "1"}, {"pods": "1", "requests.cpu": "500m"})
    (charged,) = quota.charge(pod(requests={"cpu": "500m"}), PODS, [team])
    assert to_dict(charged.status)["used"] == {"pods": "2", "requests.cpu": "1"}
    with pytest.raises(Forbidden) as refused:
        quota.charge(pod("q", requests={"cpu": "100m"}), PODS, [charged])
    assert str(refused.value) == (
        'pods "q" is forbidden: exceeded quota: team, requested: pods=1,requests.cpu=100m, '
        "used: pods=2,requests.cpu=1, limited: pods=2,requests.cpu=1"
    )


def test_a_quota_on_cpu_and_memory_asks_every_container_for_them() -> None:
    with pytest.raises(Forbidden, match=r"failed quota: team: must specify limits.memory for: c; requests.cpu for: c"):
        quota.charge(pod(), PODS, [make_quota({"requests.cpu": "1", "limits.memory": "1Gi"})])


@pytest.mark.parametrize(
    ("scopes", "made", "counted"),
    [
        ({"scopes": ["BestEffort"]}, pod(), True),
        ({"scopes": ["BestEffort"]}, pod(requests={"cpu": "1"}), False),
        ({"scopes": ["NotBestEffort"]}, pod(requests={"cpu": "1"}), True),
        ({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=5), True),
        ({"scopes": ["NotTerminating"]}, pod(activeDeadlineSeconds=5), False),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}]
                }
            },
            pod(priorityClassName="a"),
            True,
        ),
        (
            {"scopes": ["CrossNamespacePodAffinity"]},
            pod(
                affinity={
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "zone", "namespaceSelector": {}, "labelSelector": {}}
                        ]
                    }
                }
            ),
            True,
        ),
    ],
)
def test_a_quota_counts_the_pods_in_its_scopes(scopes: dict, made: Pod, counted: bool) -> None:
    team = make_quota({"pods": "5"}, **scopes)
    assert quota.matches(team, made, PODS) is counted
    assert to_dict(team)["spec"]["hard"] == {"pods": "5"}
    assert str(quota.used(team, [(made, PODS), (made, PODS)])["pods"]) == ("2" if counted else "0")


def test_an_update_is_charged_the_difference_and_whole_to_a_quota_whose_scope_it_enters() -> None:
    old, new = pod(requests={"cpu": "1"}), pod(requests={"cpu": "3"}, activeDeadlineSeconds=5)
    counted = make_quota({"pods": "5", "cpu": "9"}, {"pods": "1", "cpu": "1"})
    entered = make_quota({"pods": "5", "cpu": "9"}, {"pods": "0", "cpu": "0"}, scopes=["Terminating"])
    charged = quota.charge(new, PODS, [counted, entered], old)
    used = [{name: str(amount) for name, amount in one.status.used.items()} for one in charged]
    assert used == [{"pods": "1", "cpu": "3"}, {"pods": "1", "cpu": "3"}]


def test_quotas_are_asked_about_updates_that_can_change_what_they_count() -> None:
    api = APIServer()
    api.create(pod("before"))  # without the request that the quota asks of new pods
    team = make_quota({"pods": "1", "cpu": "9"}, scopes=["Terminating"])
    team.metadata.namespace = "default"
    api.create(team)
    api.create(pod("ends", requests={"cpu": "1"}, activeDeadlineSeconds=5))
    before = api.store.get(Pod, "before", "default")
    before.metadata.labels["a"] = "b"
    before = api.update(before)
    before.spec.active_deadline_seconds = 5
    with pytest.raises(Forbidden, match="failed quota: team: must specify cpu for: c"):
        api.update(before)
    later = api.create(pod("later", requests={"cpu": "1"}))
    later.spec.active_deadline_seconds = 5
    with pytest.raises(Forbidden, match="exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1"):
        api.update(later)
    assert str(api.store.get(ResourceQuota, "team", "default").status.used["pods"]) == "1"


def test_a_finished_pod_counts_as_an_object_only() -> None:
    made = pod(requests={"cpu": "1"})
    made.status.phase = "Succeeded"
    counted = quota.used(make_quota({"pods": "5", "count/pods": "5", "cpu": "3"}), [(made, PODS)])
    assert {name: str(amount) for name, amount in counted.items()} == {"pods": "0", "count/pods": "1", "cpu": "0"}
