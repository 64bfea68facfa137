"""Each API group names the module of its types."""

from __future__ import annotations

import pytest

from kitlib.api.api_groups import GROUPS, SAME_FIELDS, stored_as, type_of
from kitlib.api.autoscaling import HorizontalPodAutoscaler, HorizontalPodAutoscalerV1
from kitlib.api.core import Pod
from kitlib.api.meta import KubeObject
from kitlib.apiserver.store.kinds import RESOURCES

BUILT_IN = [(one.group, one.kind) for one in RESOURCES]


@pytest.mark.parametrize(("group", "kind"), BUILT_IN, ids=[".".join(one) for one in BUILT_IN])
def test_each_kind_that_the_store_knows_has_a_type_of_its_group(group: str, kind: str) -> None:
    assert group in GROUPS
    versions = ("v1", "v1alpha3", "v1beta1", "v1beta2", "v2")
    found = {type_of(f"{group}/{version}" if group else version, kind) for version in versions} - {KubeObject}
    assert found and {one().kind for one in found} == {kind}


@pytest.mark.parametrize(("version", "kind"), SAME_FIELDS)
def test_a_version_with_the_same_fields_has_the_same_type(version: str, kind: str) -> None:
    known = {type_of(f"resource.k8s.io/{one}", kind) for one in ("v1", "v1beta2")}
    assert known == {type_of(version, kind)} and KubeObject not in known


@pytest.mark.parametrize(
    ("version", "kind"),
    [("example.com/v1", "Pod"), ("v2", "Pod"), ("apps/v1", "Pod"), ("v1", "Deployment"), ("networking.k8s.io/v1", "X")],
)
def test_another_group_version_or_kind_has_no_type(version: str, kind: str) -> None:
    assert type_of(version, kind) is KubeObject


def test_an_autoscaler_of_version_1_is_kept_as_version_2() -> None:
    assert type_of("autoscaling/v1", "HorizontalPodAutoscaler") is HorizontalPodAutoscalerV1
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    data = {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3},
    }
    stored = stored_as(HorizontalPodAutoscalerV1, data)
    assert stored is not None and stored["apiVersion"] == "autoscaling/v2"
    assert type_of(stored["apiVersion"], stored["kind"]) is HorizontalPodAutoscaler


def test_a_kept_version_is_not_converted() -> None:
    assert stored_as(Pod, {"metadata": {"name": "a"}}) is None
