"""Devices with binding conditions: what is allocated with them, and what a pod waits for before it is bound."""

from __future__ import annotations

from kitlib.api.devices import AllocatedDeviceStatus
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.serialize import to_dict
from kitlib.scheduler.plugins.dynamicresources.plugin import unmet_conditions
from tests.scheduler.plugins.dynamicresources.device_cases import allocator, claim, device, exactly, node, published

ATTACHED = device("d0", bindingConditions=["attached"], bindingFailureConditions=["broken"], bindsToNode=True)


def test_the_allocation_names_the_conditions_and_binds_to_the_node() -> None:
    slices = [published(ATTACHED, nodeName=None, allNodes=True)]
    found = allocator(slices, claim(exactly())).allocate(node())
    assert found is not None
    result = to_dict(found[0].devices.results[0])
    assert (result["bindingConditions"], result["bindingFailureConditions"]) == (["attached"], ["broken"])
    assert found[0].node_selector is not None
    assert found[0].node_selector.node_selector_terms[0].match_fields[0].values == [node().name]


def test_releases_without_the_feature_pass_over_such_devices() -> None:
    assert allocator([published(ATTACHED)], claim(exactly()), release=Release("1.35")).allocate(node()) is None


def test_the_pod_waits_until_the_driver_reports_the_conditions() -> None:
    asked = claim(exactly())
    found = allocator([published(ATTACHED)], asked).allocate(node())
    assert found is not None
    asked.status.allocation = found[0]
    name = "gpu.example.com/p/d0"
    assert unmet_conditions(asked) == f"claim default/c: device {name} does not report attached yet"

    def reported(kind: str) -> str:
        state = AllocatedDeviceStatus(driver="gpu.example.com", pool="p", device="d0")
        state.conditions = [Condition(type=kind, status="True")]
        asked.status.devices = [state]
        return unmet_conditions(asked)

    assert reported("broken") == f"claim default/c: device {name} reports broken"
    assert reported("attached") == ""
