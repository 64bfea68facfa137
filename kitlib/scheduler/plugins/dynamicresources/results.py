"""The parts of an allocation other than the devices: configuration of classes and claims, and the node selector.

Source: structured/internal (Allocator.Allocate: "Populate configs"; createNodeSelector).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kitlib.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kitlib.api.devices import DeviceAllocationConfiguration, DeviceClass, ResourceClaim
from kitlib.scheduler.plugins.dynamicresources.pools import Offer


def configurations(
    claim: ResourceClaim, chosen: Mapping[str, tuple[str, DeviceClass]]
) -> list[DeviceAllocationConfiguration]:
    """Return each class's configuration once, with the requests of the class, then the claim's own configuration.

    Args:
        claim: the claim.
        chosen: request -> name of the chosen alternative (`name` or `name/subrequest`) and its class.
    """
    found: list[DeviceAllocationConfiguration] = []
    names = [request.name for request in claim.spec.devices.requests]
    by_class: dict[str, list[str]] = {}
    classes: dict[str, DeviceClass] = {}
    for name in names:
        if name in chosen:
            serves, of_class = chosen[name]
            classes[of_class.name] = of_class
            by_class.setdefault(of_class.name, []).append(serves)
    for of_class in classes.values():
        found += [
            DeviceAllocationConfiguration(
                source="FromClass", requests=list(by_class[of_class.name]), opaque=config.opaque
            )
            for config in of_class.spec.config
        ]
    served = {*chosen, *(serves for serves, _ in chosen.values())}
    for own in claim.spec.devices.config:
        if not own.requests or served & set(own.requests):
            made = DeviceAllocationConfiguration(source="FromClaim", requests=list(own.requests), opaque=own.opaque)
            found.append(made)
    return found


def node_selector_of(offers: Iterable[Offer], node: str) -> NodeSelector | None:
    """Return a selector of the nodes that reach all of these devices; None = every node.

    Args:
        offers: the devices.
        node: the name of the node for which they are allocated; devices with `bindsToNode` are usable only there.
    """
    term = NodeSelectorTerm()
    for offer in offers:
        per_device = offer.slice.spec.per_device_node_selection
        place = offer.device if per_device else offer.slice.spec
        if place.node_name or offer.device.binds_to_node:
            named = NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])
            return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[named])])
        for one in place.node_selector.node_selector_terms[:1] if place.node_selector is not None else ():
            term.match_fields += [r for r in one.match_fields if r not in term.match_fields]
            term.match_expressions += [r for r in one.match_expressions if r not in term.match_expressions]
    if not term.match_fields and not term.match_expressions:
        return None
    return NodeSelector(node_selector_terms=[term])
