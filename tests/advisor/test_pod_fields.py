"""Every field of a pod is modelled, without effect, or named."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kitlib.advisor.pod_fields import MODELLED, NAMED, WITHOUT_EFFECT, not_modelled
from kitlib.api.core import Pod, PodSpec, PodStatus
from kitlib.api.serialize import from_dict
from tests.advisor.dumps import asked, dump, node, pod

OF_POD = {"apiVersion", "kind", "metadata", "spec", "status"}
STATUS = {
    *("allocatedResources", "conditions", "containerStatuses", "ephemeralContainerStatuses", "qosClass", "resize"),
    *("extendedResourceClaimStatus", "hostIP", "hostIPs", "initContainerStatuses", "message", "nominatedNodeName"),
    *("observedGeneration", "phase", "podIP", "podIPs", "reason", "resourceClaimStatuses", "resources", "startTime"),
}
"""Fields of PodStatus that an answer reads, or that only describe the running pod."""


def wire(type_: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(type_)}


def test_every_field_of_a_pod_and_its_spec_is_modelled_or_named() -> None:
    known = [set(MODELLED), set(WITHOUT_EFFECT), set(NAMED)]
    assert set.union(*known) - {"workloadRef"} == wire(PodSpec)
    assert sum(map(len, known)) == len(set.union(*known)), "a field is in one table only"
    assert wire(Pod) == OF_POD
    assert wire(PodStatus) == STATUS


@pytest.mark.parametrize(
    ("spec", "field", "code"),
    [
        ({"schedulingGroup": {"podGroupName": "gang"}}, "spec.schedulingGroup", 3),
        ({"workloadRef": {"name": "train", "podGroup": "workers"}}, "spec.workloadRef", 3),
        ({"hostUsers": False}, "spec.hostUsers", 0),
        ({"securityContext": {"appArmorProfile": {"type": "Localhost"}}}, "spec.securityContext", 0),
        ({"futureConstraint": {"key": "x"}}, "spec.futureConstraint", 3),
        ({"schedulerName": "my-own"}, "spec.schedulerName", 3),
        ({"tolerations": [{"key": "a", "operator": "Exists", "future": 1}]}, "spec.tolerations[0].future", 3),
    ],
)
def test_a_field_that_decides_makes_the_answer_uncertain(spec: dict[str, Any], field: str, code: int) -> None:
    answer = asked(dump(node("n1"), pod("p", spec=spec)))
    assert field in [gap.field for gap in answer.gaps]
    assert answer.exit_code == code


def test_fields_of_a_running_pod_that_concern_its_start_are_not_named() -> None:
    made = from_dict(pod("p", on="n1", spec={"hostUsers": False}))
    assert list(not_modelled(made)) == []
