"""An allocation's configuration and node selector."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.devices import DeviceClass
from kitlib.api.serialize import from_dict, to_dict
from kitlib.scheduler.plugins.dynamicresources.pools import DeviceID, Offer
from kitlib.scheduler.plugins.dynamicresources.results import configurations, node_selector_of
from tests.scheduler.plugins.dynamicresources.device_cases import DRIVER, claim, device, exactly, published


def opaque(name: str) -> dict[str, Any]:
    return {"opaque": {"driver": DRIVER, "parameters": {"name": name}}}


def device_class(name: str, *configs: str) -> DeviceClass:
    return from_dict({"metadata": {"name": name}, "spec": {"config": [opaque(one) for one in configs]}}, DeviceClass)


def shown(asked: Any, chosen: dict[str, tuple[str, DeviceClass]]) -> list[tuple[str, list[str], str]]:
    found = configurations(asked, chosen)
    return [(one.source, one.requests, to_dict(one.opaque)["parameters"]["name"]) for one in found]


def test_a_class_is_configured_once_for_all_its_requests_before_the_claim() -> None:
    big, small = device_class("big", "b1", "b2"), device_class("small", "s")
    own = [{"requests": ["r1"], **opaque("own")}, opaque("all"), {"requests": ["other"], **opaque("no")}]
    asked = claim(exactly("r1"), exactly("r2"), exactly("r3"), exactly("r4"), config=own)
    chosen = {"r3": ("r3/x", big), "r1": ("r1", big), "r2": ("r2", small)}
    assert shown(asked, chosen) == [
        ("FromClass", ["r1", "r3/x"], "b1"),
        ("FromClass", ["r1", "r3/x"], "b2"),
        ("FromClass", ["r2"], "s"),
        ("FromClaim", ["r1"], "own"),
        ("FromClaim", [], "all"),
    ]


@pytest.mark.parametrize(("requests", "counts"), [(["r"], True), (["r/x"], True), (["r/y"], False), (["z", "r"], True)])
def test_a_claims_configuration_is_for_a_request_or_its_chosen_alternative(requests: list[str], counts: bool) -> None:
    asked = claim(exactly("r"), config=[{"requests": requests, **opaque("own")}])
    assert bool(shown(asked, {"r": ("r/x", device_class("c"))})) is counts


def selecting(**labels: str) -> dict[str, Any]:
    listed = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return {"nodeSelectorTerms": [{"matchExpressions": listed}]}


def offer(spec: dict[str, Any], **fields: Any) -> Offer:
    made = published(device("x", **fields), **spec)
    return Offer(DeviceID(DRIVER, "p", "x"), made.spec.devices[0], made)


def selector(*offers: Offer) -> Any:
    found = node_selector_of(offers, "n")
    return None if found is None else to_dict(found)["nodeSelectorTerms"]


NAMED = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]


def test_devices_that_every_node_reaches_need_no_selector() -> None:
    assert selector() is None
    assert selector(offer({}), offer({})) is None


@pytest.mark.parametrize(
    "one",
    [
        offer({"nodeName": "n"}),
        offer({"perDeviceNodeSelection": True}, nodeName="n"),
        offer({}, bindsToNode=True),
    ],
    ids=["slice of a node", "device of a node", "binds to the node"],
)
def test_a_local_device_binds_to_the_node(one: Offer) -> None:
    assert selector(one) == NAMED
    assert selector(offer({"nodeSelector": selecting(a="1")}), one) == NAMED


def test_selectors_of_several_devices_are_joined_without_repetition() -> None:
    a, ab = offer({"nodeSelector": selecting(a="1")}), offer({"nodeSelector": selecting(a="1", b="2")})
    of_device = offer({"perDeviceNodeSelection": True}, nodeSelector=selecting(c="3"))
    expected = selecting(a="1", b="2", c="3")["nodeSelectorTerms"]
    assert selector(a, ab, offer({}), of_device) == expected
    by_field = {"nodeSelectorTerms": [{"matchFields": NAMED[0]["matchFields"]}]}
    assert selector(offer({"nodeSelector": by_field})) == NAMED
    ignored = offer({"nodeSelector": selecting(a="1")}, nodeSelector=selecting(c="3"))
    assert selector(ignored) == selecting(a="1")["nodeSelectorTerms"]
