"""Label selectors, node selectors and tolerations: parsed once, matched often, without side effects.

Sources: apimachinery labels.Selector, metav1.LabelSelectorAsSelector; component-helpers nodeaffinity;
core/v1 Toleration.ToleratesTaint, v1helper.FindMatchingUntoleratedTaint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kitlib.api.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, Taint, Toleration
from kitlib.api.errors import KitError
from kitlib.api.meta import LabelSelector, LabelSelectorRequirement
from kitlib.api.persistent_volume import PersistentVolume
from kitlib.api.release import Release

Labels = Mapping[str, str]
_DECIMAL_INTEGER = re.compile("0|-?[1-9][0-9]*", re.ASCII)


class SelectorError(KitError, ValueError):
    """An invalid selector: an unknown operator, or values that do not fit it."""


class LabelSelectorMatcher:
    """A parsed label selector: None matches nothing, an empty one matches everything.

    Raises:
        SelectorError: an operator is unknown, or its values do not fit it.

    Source: metav1.LabelSelectorAsSelector.
    """

    __slots__ = ("everything", "nothing", "requirements")

    def __init__(self, selector: LabelSelector | None) -> None:
        self.nothing = selector is None
        self.requirements: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
        if selector is not None:
            found: list[tuple[str, str, tuple[str, ...]]] = [
                (key, "In", (value,)) for key, value in selector.match_labels.items()
            ]
            found += [_label_requirement(r) for r in selector.match_expressions]
            # sorted, so that equal selectors compare and hash equal
            self.requirements = tuple(sorted(found))
        self.everything = not self.nothing and not self.requirements

    def matches(self, labels: Labels) -> bool:
        """Return whether the selector matches these labels."""
        if self.nothing:
            return False
        for key, operator, values in self.requirements:  # noqa: SIM110  (a loop: asked about every pod of a large set)
            if not requirement_holds(labels, key, operator, values):
                return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelSelectorMatcher) and (self.nothing, self.requirements) == (
            other.nothing,
            other.requirements,
        )

    def __hash__(self) -> int:
        return hash((self.nothing, self.requirements))


def format_label_selector(selector: Mapping[str, Any]) -> str:
    """Return a label selector's wire form on one line: `app=web,tier in (a,b)`; "" where it selects everything.

    Source: metav1.FormatLabelSelector, labels.Requirement.String.
    """
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for one in selector.get("matchExpressions") or ():
        key, values = one.get("key", ""), ",".join(sorted(one.get("values") or ()))
        shown = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append((key, shown.get(one.get("operator", ""), "<error>")))
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _label_requirement(r: LabelSelectorRequirement) -> tuple[str, str, tuple[str, ...]]:
    if r.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        raise SelectorError(f'"{r.operator}" is not a valid label selector operator')
    if r.operator in ("In", "NotIn") and not r.values:
        raise SelectorError("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    if r.operator in ("Exists", "DoesNotExist") and r.values:
        raise SelectorError("values: Invalid value: values set must be empty for exists and does not exist")
    return r.key, r.operator, tuple(sorted(set(r.values)))


def requirement_holds(labels: Labels, key: str, operator: str, values: tuple[str, ...]) -> bool:
    """Return whether labels fulfil a requirement; the operators Gt and Lt are those of node selectors.

    Source: labels.Requirement.Matches.
    """
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        # NotIn matches objects without the label, unlike In. Source: labels.Requirement.Matches.
        return key not in labels or labels[key] not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    return _compares(labels, key, operator, values)


def _compares(labels: Labels, key: str, operator: str, values: tuple[str, ...]) -> bool:
    """Evaluate Gt and Lt; unless both sides are whole numbers of 64 bits, nothing matches."""
    if key not in labels or len(values) != 1:
        return False
    left, right = _whole(labels[key]), _whole(values[0])
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right


def _whole(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdigit():
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def matches_expressions(requirements: Iterable[NodeSelectorRequirement], labels: Labels) -> bool:
    """Return whether every requirement on labels holds (In, NotIn, Exists, DoesNotExist, Gt, Lt)."""
    return all(requirement_holds(labels, r.key, r.operator, tuple(r.values)) for r in requirements)


def matches_term(term: NodeSelectorTerm, node: Node) -> bool:
    """Return whether a node meets all of a term; an empty one meets none. Source: nodeaffinity.nodeSelectorTerm."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": node.metadata.name}
    return matches_expressions(term.match_expressions, node.metadata.labels) and matches_expressions(
        term.match_fields, fields
    )


def matches_node_selector(selector: NodeSelector, node: Node) -> bool:
    """Return whether any of the terms matches the node. Source: nodeaffinity.NodeSelector.Match."""
    return any(matches_term(term, node) for term in selector.node_selector_terms)


def matches_required_node_affinity(pod: Pod, node: Node) -> bool:
    """Return whether a node meets `nodeSelector` and the required affinity. Source: RequiredNodeAffinity.Match."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    if not affinity or affinity.required is None:
        return True
    return matches_node_selector(affinity.required, node)


def usable_on(volume: PersistentVolume, node: Node) -> bool:
    """Return whether the volume's node affinity allows the node. Source: storage/volume CheckNodeAffinity."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return matches_node_selector(affinity.required, node)


def tolerates(toleration: Toleration, taint: Taint, release: Release) -> bool:
    """Return whether a toleration fits a taint; an empty effect fits all, an empty key with Exists fits every taint.

    Gt and Lt fit a taint whose value is a larger or smaller number, with the gate TaintTolerationComparisonOperators.

    Source: core/v1 Toleration.ToleratesTaint; KEP-5471.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if toleration.operator == "Exists":
        return True
    if toleration.operator not in ("Gt", "Lt") or not release.enabled("TaintTolerationComparisonOperators"):
        return False
    wanted, value = _decimal(toleration.value), _decimal(taint.value)
    if wanted is None or value is None:
        return False
    return value > wanted if toleration.operator == "Gt" else value < wanted


def is_decimal_integer(text: str) -> bool:
    """Return whether a text is a whole number in canonical form: no plus sign, no leading zeros, no "-0".

    Source: apimachinery content.IsDecimalInteger.
    """
    return _DECIMAL_INTEGER.fullmatch(text) is not None


def _decimal(text: str) -> int | None:
    return _whole(text) if is_decimal_integer(text) else None


def tolerates_all(tolerations: Iterable[Toleration], taint: Taint, release: Release) -> bool:
    """Return whether any of the tolerations fits the taint. Source: v1helper.TolerationsTolerateTaint."""
    return any(tolerates(toleration, taint, release) for toleration in tolerations)


def untolerated_taint(
    taints: Iterable[Taint], tolerations: list[Toleration], counts: Callable[[Taint], bool], release: Release
) -> Taint | None:
    """Return the first taint that counts and is not tolerated. Source: v1helper.FindMatchingUntoleratedTaint."""
    for taint in taints:
        if counts(taint) and not tolerates_all(tolerations, taint, release):
            return taint
    return None


def repels_scheduling(taint: Taint) -> bool:
    """Return whether a taint keeps new pods away: NoSchedule and NoExecute do, PreferNoSchedule does not."""
    return taint.effect in ("NoSchedule", "NoExecute")
