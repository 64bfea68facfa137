"""Common parts of warnings: deprecated node labels, fractions of bytes, claims.

Source: pkg/api/node/util.go, pkg/api/persistentvolumeclaim/util.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kitlib.api.core import NodeSelectorTerm, PersistentVolumeClaimSpec
from kitlib.api.names import is_valid_label_value
from kitlib.api.resource import Quantity

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
CLASS_DEPRECATED = 'deprecated since v1.8; use "storageClassName" attribute instead'
VOLUMES = {
    "photon_persistent_disk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "git_repo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scale_io": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
"""Removed volume sources: attribute -> field and warning."""
_LABELS = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}


def deprecated_label(label: str) -> str:
    """Return the deprecation of a node label; "" if it is not deprecated. Source: GetNodeLabelDeprecatedMessage."""
    if label not in _LABELS:
        return ""
    since, instead = _LABELS[label]
    return f'deprecated since {since}; use "{instead}" instead'


def node_term(term: NodeSelectorTerm, field: str) -> Iterator[str]:
    """Source: GetWarningsForNodeSelectorTerm."""
    for i, expression in enumerate(term.match_expressions):
        at = f"{field}.matchExpressions[{i}]"
        text = deprecated_label(expression.key)
        if text:
            yield f"{at}.key: {expression.key} is {text}"
        for j, value in enumerate(expression.values):
            for problem in is_valid_label_value(value):
                yield f"{at}.values[{j}]: {value} is invalid, {problem}"


def node_selector(selector: Mapping[str, str], field: str) -> Iterator[str]:
    """Yield warnings about deprecated labels of a node selector."""
    for key in selector:
        text = deprecated_label(key)
        if text:
            yield f"{field}[{key}]: {text}"


def fractional(quantities: Mapping[str, Quantity], field: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield warnings about amounts with fractions of bytes."""
    for name in names:
        quantity = quantities.get(name)
        if quantity is not None and quantity.milli_value() % 1000:
            yield f'{field}[{name}]: fractional byte value "{quantity}" is invalid, must be an integer'


def claim_spec(spec: PersistentVolumeClaimSpec, field: str) -> Iterator[str]:
    """Source: GetWarningsForPersistentVolumeClaimSpec."""
    yield from fractional(spec.resources.requests, f"{field}.resources.requests", ("storage",))
    yield from fractional(spec.resources.limits, f"{field}.resources.limits", ("storage",))
