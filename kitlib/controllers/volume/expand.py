"""Expansion of claims: a claim that has grown waits for its driver's resizer, and an event reports it.

Source: pkg/controller/volume/expand/expand_controller.go (Run, syncHandler), where Kubernetes has no plugin of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import PersistentVolume, PersistentVolumeClaim
from kitlib.api.resource import Quantity
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta

_NOTHING = Quantity("0")


class ExpandController(Controller):
    """The controller of claims with a larger request than before."""

    name: ClassVar[str] = "volume_expand"
    account: ClassVar[str] = "expand-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"PersistentVolumeClaim": self._on_claim}

    def _on_claim(self, change: Delta) -> None:
        """Source: UpdateFunc of the claims' informer."""
        old, new = change.old, change.new
        if not isinstance(old, PersistentVolumeClaim) or not isinstance(new, PersistentVolumeClaim):
            return
        if change.type == "MODIFIED" and _asked(new) > _asked(old):
            self.enqueue(new)

    def sync(self, key: Key) -> None:
        """Source: syncHandler."""
        claim: PersistentVolumeClaim | None = self.find(PersistentVolumeClaim, key)
        if claim is None or _asked(claim) <= claim.status.capacity.get("storage", _NOTHING):
            return
        volume = self.api.store.find(PersistentVolume, claim.spec.volume_name, copy=False)
        reference = volume.spec.claim_ref if volume is not None else None
        if reference is not None and reference.uid == claim.metadata.uid:
            message = "waiting for an external controller to expand this PVC"
            self.event(claim, "Normal", "ExternalExpanding", message)


def _asked(claim: PersistentVolumeClaim) -> Quantity:
    return claim.spec.resources.requests.get("storage", _NOTHING)
