"""What the scheduler knows of claims and devices: claims with allocations that are under way, classes, slices.

Source: kube-scheduler framework SharedDRAManager; plugins/dynamicresources dra_manager.go (claimTracker).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kitlib.api.core import PodExtendedResourceClaimStatus
from kitlib.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from kitlib.api.serialize import deepcopy

T = TypeVar("T")
Known = ResourceClaim | DeviceClass | ResourceSlice


@dataclass
class Claims:
    """The objects of the resource.k8s.io API in a cluster. Objects are replaced, never changed.

    Attributes:
        claims: (namespace, name) -> claim.
        classes: name -> class.
        slices: name -> slice.
        pending: UID -> claim as PreBind will write it: allocated by Reserve, not in the API yet.
        write: where a changed claim goes; None = nowhere but here.
        create: makes a claim that the scheduler needs for a pod, and names it in the pod's status; None = only here.
        remove: deletes such a claim.
    """

    claims: dict[tuple[str, str], ResourceClaim] = field(default_factory=dict)
    classes: dict[str, DeviceClass] = field(default_factory=dict)
    slices: dict[str, ResourceSlice] = field(default_factory=dict)
    pending: dict[str, ResourceClaim] = field(default_factory=dict)
    write: Callable[[ResourceClaim], ResourceClaim] | None = None
    create: Callable[[ResourceClaim, PodExtendedResourceClaimStatus], ResourceClaim] | None = None
    remove: Callable[[ResourceClaim], None] | None = None
    _derived: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, objects: Iterable[object]) -> Claims:
        """Pick claims, classes and slices out of any objects."""
        made = cls()
        for obj in objects:
            if isinstance(obj, Known):
                made.put(obj)
        return made

    def put(self, obj: Known) -> Known | None:
        """An object is there, or has changed; what stood there before."""
        before: Known | None
        if isinstance(obj, ResourceClaim):
            key = (obj.namespace or "default", obj.name)
            before, self.claims[key] = self.claims.get(key), obj
        elif isinstance(obj, DeviceClass):
            before, self.classes[obj.name] = self.classes.get(obj.name), obj
        else:
            before, self.slices[obj.name] = self.slices.get(obj.name), obj
            self._derived.clear()
        return before

    def drop(self, obj: Known) -> None:
        """An object is gone."""
        if isinstance(obj, ResourceClaim):
            self.claims.pop((obj.namespace or "default", obj.name), None)
        elif isinstance(obj, DeviceClass):
            self.classes.pop(obj.name, None)
        else:
            self.slices.pop(obj.name, None)
            self._derived.clear()

    def find(self, namespace: str, name: str) -> ResourceClaim | None:
        """A claim as the API has it, or None."""
        return self.claims.get((namespace or "default", name))

    def save(self, claim: ResourceClaim) -> ResourceClaim:
        """Write a changed claim."""
        stored = self.write(claim) if self.write is not None else claim
        self.put(stored)
        return stored

    def make(self, claim: ResourceClaim, status: PodExtendedResourceClaimStatus) -> ResourceClaim:
        """Make a claim for a pod's extended resources; its name is completed.

        Args:
            claim: owned by the pod.
            status: what the pod's status is to show, without the claim's name.
        """
        if self.create is None:
            made = deepcopy(claim)
            made.metadata.name = made.metadata.uid = f"{claim.metadata.generate_name}{len(self.claims)}"
        else:
            made = self.create(claim, status)
        self.put(made)
        return made

    def discard(self, claim: ResourceClaim) -> None:
        """Delete a claim that the scheduler made."""
        if self.remove is not None:
            self.remove(claim)
        self.drop(claim)

    def of_slices(self, name: str, make: Callable[[Iterable[ResourceSlice]], T]) -> T:
        """What `make` makes of the slices; it is kept under a name until a slice changes."""
        if name not in self._derived:
            self._derived[name] = make(self.slices.values())
        found: T = self._derived[name]
        return found
