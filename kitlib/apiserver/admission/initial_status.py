"""The status of a new object: the API server ignores the status in the manifest, except for a Node.

Source: PrepareForCreate of the registries' strategies (each sets an empty status); nodeStrategy.PrepareForCreate,
"Nodes allow *all* fields, including status, to be set on create".
"""

from __future__ import annotations

from kitlib.api.core import Namespace, Node
from kitlib.api.meta import KubeObject

_PHASES = {"PersistentVolume": "Pending", "PersistentVolumeClaim": "Pending"}


def reset_status(obj: KubeObject) -> None:
    """Give a new object of a built-in kind its initial status, in place."""
    if isinstance(obj, Node) or not hasattr(obj, "status"):
        return
    if isinstance(obj, Namespace):
        obj.status = {"phase": "Active"}
    elif obj.kind in _PHASES:
        obj.status = type(obj.status)(phase=_PHASES[obj.kind])
    else:
        obj.status = type(obj.status)()
