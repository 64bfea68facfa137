"""Common parts of warnings: node labels, fractions of bytes, claims."""

from __future__ import annotations

import pytest

from kitlib.api.core import NodeSelectorTerm, PersistentVolumeClaimSpec
from kitlib.api.names import VALUE_TEXT
from kitlib.api.resource import Quantity
from kitlib.apiserver.validation.warnings import parts
from tests.apiserver.validation.told import part


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'),
        ("beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'),
        (
            "failure-domain.beta.kubernetes.io/region",
            'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
        ),
        ("failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'),
        (
            "beta.kubernetes.io/instance-type",
            'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
        ),
        ("kubernetes.io/arch", ""),
        ("", ""),
    ],
)
def test_deprecated_labels(label: str, text: str) -> None:
    """Source: GetNodeLabelDeprecatedMessage."""
    assert parts.deprecated_label(label) == text
    assert list(parts.node_selector({"a": "b", label: "x"}, "f")) == ([f"f[{label}]: {text}"] if text else [])


def test_a_term_of_a_node_selector() -> None:
    expressions = [
        {"key": "a", "operator": "In", "values": ["ok", "no no"]},
        {"key": "beta.kubernetes.io/os", "operator": "Exists"},
    ]
    assert list(parts.node_term(part(NodeSelectorTerm, matchExpressions=expressions), "t")) == [
        f"t.matchExpressions[0].values[1]: no no is invalid, {VALUE_TEXT}",
        't.matchExpressions[1].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
    ]


@pytest.mark.parametrize(
    ("amount", "warned"),
    [("1", False), ("1Gi", False), ("1500m", True), ("1m", True), ("1000m", False), ("0.5Ki", False)],
)
def test_fractions_of_bytes(amount: str, warned: bool) -> None:
    quantities = {"memory": Quantity(amount), "cpu": Quantity("1m")}
    shown = str(quantities["memory"])
    text = f'f[memory]: fractional byte value "{shown}" is invalid, must be an integer'
    assert list(parts.fractional(quantities, "f", ("memory", "storage"))) == ([text] if warned else [])


def test_claims() -> None:
    resources = {"requests": {"storage": "1m", "x": "1m"}, "limits": {"storage": "3m"}}
    assert list(parts.claim_spec(part(PersistentVolumeClaimSpec, resources=resources), "s")) == [
        's.resources.requests[storage]: fractional byte value "1m" is invalid, must be an integer',
        's.resources.limits[storage]: fractional byte value "3m" is invalid, must be an integer',
    ]
