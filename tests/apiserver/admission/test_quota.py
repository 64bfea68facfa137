"""ResourceQuota: what an object uses, the quotas that count it, and the message of an exceeded one."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import ResourceQuota
from kitlib.api.errors import Forbidden
from kitlib.api.meta import KubeObject
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.quota import ResourceQuotaPlugin, charge, matches, usage, used
from tests.apiserver.admission.writes import made, pod, write

KINDS = APIServer().store.kinds


def quota(hard: dict[str, str], in_use: dict[str, str] | None = None, **spec: Any) -> ResourceQuota:
    found: ResourceQuota = made(
        "ResourceQuota", "q", namespace="default", spec={"hard": hard, **spec}, status={"used": in_use or {}}
    )
    return found


def sized(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **spec: Any) -> KubeObject:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return pod(containers=[{"name": "c", "image": "i", "resources": resources}], **spec)


def shown(amounts: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def usage_of(obj: KubeObject) -> dict[str, str]:
    return shown(usage(obj, KINDS.of(obj)))


CLASS = "fast.storageclass.storage.k8s.io"
DEVICES = "gpu.deviceclass.resource.k8s.io/devices"


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (
            sized(
                {"cpu": "1", "hugepages-2Mi": "4Mi", "a.b/c": "3"}, {"cpu": "2", "hugepages-2Mi": "4Mi", "a.b/c": "3"}
            ),
            {
                "count/pods": "1",
                "pods": "1",
                "cpu": "1",
                "requests.cpu": "1",
                "hugepages-2Mi": "4Mi",
                "requests.hugepages-2Mi": "4Mi",
                "requests.a.b/c": "3",
                "limits.cpu": "2",
            },
        ),
        (made("Service", spec={"type": "ClusterIP", "ports": [{"port": 1}]}), {"count/services": "1", "services": "1"}),
        (
            made("Service", spec={"type": "NodePort", "ports": [{"port": 1}, {"port": 2}]}),
            {"count/services": "1", "services": "1", "services.nodeports": "2"},
        ),
        (
            made("Service", spec={"type": "LoadBalancer", "ports": [{"port": 1}]}),
            {"count/services": "1", "services": "1", "services.nodeports": "1", "services.loadbalancers": "1"},
        ),
        (
            made("PersistentVolumeClaim", spec={"resources": {"requests": {"storage": "1Gi"}}}),
            {"count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "1Gi"},
        ),
        (
            made(
                "PersistentVolumeClaim",
                spec={"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
            ),
            {
                "count/persistentvolumeclaims": "1",
                "persistentvolumeclaims": "1",
                "requests.storage": "1Gi",
                f"{CLASS}/requests.storage": "1Gi",
                f"{CLASS}/persistentvolumeclaims": "1",
            },
        ),
        (made("Secret"), {"count/secrets": "1", "secrets": "1"}),
        (made("ServiceAccount"), {"count/serviceaccounts": "1"}),
        (made("Deployment", api_version="apps/v1"), {"count/deployments.apps": "1"}),
        (
            made(
                "ResourceClaim",
                api_version="resource.k8s.io/v1",
                spec={
                    "devices": {
                        "requests": [
                            {"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}},
                            {"name": "b", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
                            {
                                "name": "c",
                                "firstAvailable": [
                                    {"name": "x", "deviceClassName": "gpu", "count": 4},
                                    {"name": "y", "deviceClassName": "gpu", "count": 3},
                                    {"name": "z", "deviceClassName": "fpga", "count": 1},
                                ],
                            },
                        ]
                    }
                },
            ),
            {
                "count/resourceclaims.resource.k8s.io": "1",
                DEVICES: str(2 + 32 + 4),
                "fpga.deviceclass.resource.k8s.io/devices": "1",
            },
        ),
    ],
)
def test_what_an_object_uses(obj: KubeObject, expected: dict[str, str]) -> None:
    """Source: the evaluators' Usage."""
    assert usage_of(obj) == expected


@pytest.mark.parametrize(
    ("phase", "counts"), [("Running", True), ("Pending", True), ("Succeeded", False), ("Failed", False)]
)
def test_a_finished_pod_counts_as_an_object_only(phase: str, counts: bool) -> None:
    obj: Any = sized({"cpu": "1"})
    obj.status.phase = phase
    assert ("requests.cpu" in usage_of(obj), usage_of(obj)["count/pods"]) == (counts, "1")


BEST_EFFORT, BURSTABLE = sized(), sized({"cpu": "1"})
DEADLINE, FOREVER = sized(activeDeadlineSeconds=0), sized()
HIGH = sized(priorityClassName="high")
ACROSS = sized(
    affinity={
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "z", "namespaceSelector": {}}}
            ]
        }
    }
)
WITHIN = sized(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}})


def of_class(operator: str, *values: str) -> dict[str, Any]:
    expression = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [expression]}}


@pytest.mark.parametrize(
    ("scope", "obj", "expected"),
    [
        ({"scopes": ["BestEffort"]}, BEST_EFFORT, True),
        ({"scopes": ["BestEffort"]}, BURSTABLE, False),
        ({"scopes": ["NotBestEffort"]}, BURSTABLE, True),
        ({"scopes": ["NotBestEffort"]}, BEST_EFFORT, False),
        ({"scopes": ["Terminating"]}, DEADLINE, True),
        ({"scopes": ["Terminating"]}, FOREVER, False),
        ({"scopes": ["NotTerminating"]}, FOREVER, True),
        ({"scopes": ["NotTerminating"]}, DEADLINE, False),
        ({"scopes": ["NotTerminating", "NotBestEffort"]}, FOREVER, False),
        ({"scopes": ["PriorityClass"]}, HIGH, True),
        ({"scopes": ["PriorityClass"]}, FOREVER, False),
        (of_class("In", "low", "high"), HIGH, True),
        (of_class("In", "low"), HIGH, False),
        (of_class("NotIn", "low"), HIGH, True),
        (of_class("NotIn", "low"), FOREVER, True),
        (of_class("DoesNotExist"), FOREVER, True),
        (of_class("DoesNotExist"), HIGH, False),
        ({"scopes": ["CrossNamespacePodAffinity"]}, ACROSS, True),
        ({"scopes": ["CrossNamespacePodAffinity"]}, WITHIN, False),
        ({"scopes": ["CrossNamespacePodAffinity"]}, FOREVER, False),
        ({}, FOREVER, True),
    ],
)
def test_the_scopes_of_a_quota(scope: dict[str, Any], obj: KubeObject, expected: bool) -> None:
    """Source: podMatchesScopeFunc."""
    assert matches(quota({"pods": "1"}, **scope), obj, KINDS.of(obj)) is expected


@pytest.mark.parametrize(
    ("hard", "obj", "expected"),
    [
        ("pods", FOREVER, True),
        ("count/pods", FOREVER, True),
        ("limits.memory", FOREVER, True),
        ("requests.a.b/c", FOREVER, True),
        ("hugepages-2Mi", FOREVER, True),
        ("services", FOREVER, False),
        ("services", made("Service"), True),
        ("pods", made("Service"), False),
        ("secrets", made("ConfigMap"), False),
    ],
)
def test_a_quota_counts_objects_of_its_resources(hard: str, obj: KubeObject, expected: bool) -> None:
    assert matches(quota({hard: "1"}), obj, KINDS.of(obj)) is expected
    if not isinstance(obj, type(FOREVER)):
        assert matches(quota({hard: "1"}, scopes=["BestEffort"]), obj, KINDS.of(obj)) is False


def charged(obj: KubeObject, *quotas: ResourceQuota, old: KubeObject | None = None) -> list[dict[str, str]]:
    return [shown(one.status.used) for one in charge(obj, KINDS.of(obj), quotas, old)]


def refusal(obj: KubeObject, *quotas: ResourceQuota) -> str:
    with pytest.raises(Forbidden) as raised:
        charge(obj, KINDS.of(obj), quotas)
    return str(raised.value)


def test_usage_is_added_up_to_the_hard_limit() -> None:
    """Source: CheckRequest."""
    one = quota({"pods": "2", "requests.cpu": "1"}, {"pods": "1", "requests.cpu": "500m"})
    assert charged(sized({"cpu": "500m"}), one) == [{"pods": "2", "requests.cpu": "1"}]
    assert charged(sized(), quota({"services": "1"})) == []
    assert charged(made("ConfigMap"), quota({"configmaps": "1"})) == [{"configmaps": "1"}]


def test_an_exceeded_quota_names_what_exceeds_it() -> None:
    one = quota({"pods": "5", "requests.cpu": "1", "limits.cpu": "1"}, {"requests.cpu": "600m", "pods": "1"})
    assert refusal(sized({"cpu": "500m"}, {"cpu": "2"}), one) == (
        'pods "p" is forbidden: exceeded quota: q, requested: limits.cpu=2,requests.cpu=500m, used: '
        "limits.cpu=0,requests.cpu=600m, limited: limits.cpu=1,requests.cpu=1"
    )
    assert shown(one.status.used) == {"requests.cpu": "600m", "pods": "1"}


def test_every_container_sets_what_a_quota_limits() -> None:
    """Source: podEvaluator.Constraints."""
    resources = {"resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1"}}}
    containers = [{"name": "b", "image": "i"}, {"name": "a", "image": "i", **resources}]
    obj = pod(containers=containers, initContainers=[{"name": "0", "image": "i"}])
    one = quota({"limits.cpu": "9", "requests.memory": "9", "limits.memory": "9", "pods": "9"})
    assert refusal(obj, one) == (
        'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: 0,b; limits.memory for: 0,a,b; '
        "requests.memory for: 0,b"
    )
    whole = pod(containers=containers, resources={"limits": {"cpu": "1", "memory": "1"}, "requests": {"memory": "1"}})
    assert charged(whole, one)
    assert charged(FOREVER, quota({"requests.ephemeral-storage": "1", "pods": "1"})) == [{"pods": "1"}]


def test_an_update_is_charged_with_its_increase() -> None:
    """Source: SubtractWithNonNegativeResult."""
    one = quota({"requests.cpu": "2", "limits.cpu": "4"}, {"requests.cpu": "1", "limits.cpu": "2"})
    old, new = sized({"cpu": "1"}, {"cpu": "2"}), sized({"cpu": "1500m"}, {"cpu": "1"})
    assert charged(new, one, old=old) == [{"requests.cpu": "1500m", "limits.cpu": "2"}]
    assert charged(old, quota({"limits.cpu": "9"}), old=new) == [{"limits.cpu": "1"}]
    assert charged(new, quota({"limits.cpu": "9"}), old=old) == []
    scoped = quota({"pods": "1"}, scopes=["Terminating"])
    assert charged(DEADLINE, scoped, old=FOREVER) == [{"pods": "1"}]


def test_the_total_of_a_quota() -> None:
    """Source: CalculateUsage."""
    objects = [
        (one, KINDS.of(one)) for one in (sized({"cpu": "1"}), sized({"cpu": "500m"}), made("Secret"), BEST_EFFORT)
    ]
    assert shown(used(quota({"requests.cpu": "9", "pods": "9", "services": "1"}), objects)) == {
        "requests.cpu": "1500m",
        "pods": "3",
        "services": "0",
    }
    assert shown(used(quota({"pods": "9"}, scopes=["BestEffort"]), objects)) == {"pods": "1"}


@pytest.mark.parametrize(
    ("new", "old", "subresource", "count"),
    [
        (sized({"cpu": "2"}), None, "", 1),
        (sized({"cpu": "2"}), sized({"cpu": "1"}), "", 0),
        (sized({"cpu": "2"}), sized({"cpu": "1"}), "resize", 1),
        (sized({"cpu": "2"}, activeDeadlineSeconds=5), sized({"cpu": "1"}), "", 1),
        (
            made("Service", namespace="default", spec={"type": "LoadBalancer", "ports": [{"port": 1}]}),
            made("Service", namespace="default"),
            "",
            1,
        ),
        (made("Secret", namespace="default"), made("Secret", namespace="default"), "", 0),
    ],
)
def test_updates_that_can_change_the_usage(
    new: KubeObject, old: KubeObject | None, subresource: str, count: int
) -> None:
    """Source: Handles of the evaluators."""
    hard = {"requests.cpu": "9", "services.loadbalancers": "9", "secrets": "9"}
    about, around = write(new, old, quota(hard), subresource=subresource)
    ResourceQuotaPlugin().validate(about, around)
    assert len(around.charged) == count
