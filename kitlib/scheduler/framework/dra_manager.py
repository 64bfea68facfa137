"""The scheduler's view of claims and devices: claims with allocations in progress, classes, slices.

Source: kube-scheduler framework SharedDRAManager; plugins/dynamicresources dra_manager.go (claimTracker),
extended/cache.go (DeviceClassResolver).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kitlib.api.claims import rule_matches
from kitlib.api.core import PodExtendedResourceClaimStatus
from kitlib.api.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from kitlib.api.release import Release
from kitlib.api.resource_names import is_extended
from kitlib.api.serialize import deepcopy

EXTENDED_RESOURCE = "DRAExtendedResource"
"""The feature gate of extended resources that claims serve."""
IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""The prefix of each class's implicit extended resource. Source: ResourceDeviceClassPrefix."""
T = TypeVar("T")
Known = ResourceClaim | DeviceClass | ResourceSlice | DeviceTaintRule


@dataclass
class DRAManager:
    """The objects of the resource.k8s.io API in a cluster. Objects are replaced, never changed.

    Attributes:
        claims: (namespace, name) -> claim.
        classes: name -> class.
        slices: name -> slice, as its driver publishes it.
        rules: name -> an administrator's taint on devices.
        obeys_rules: whether the rules apply (feature gate DRADeviceTaintRules).
        pending: UID -> claim as PreBind will write it: allocated by Reserve, not yet in the API.
        write: the function that stores a changed claim in the API; None = there is no API.
        create: the function that creates a claim for a pod's extended resources and names it in the pod's status;
            None = there is no API.
        remove: the function that deletes such a claim; None = there is no API.
    """

    claims: dict[tuple[str, str], ResourceClaim] = field(default_factory=dict)
    classes: dict[str, DeviceClass] = field(default_factory=dict)
    slices: dict[str, ResourceSlice] = field(default_factory=dict)
    rules: dict[str, DeviceTaintRule] = field(default_factory=dict)
    obeys_rules: bool = False
    pending: dict[str, ResourceClaim] = field(default_factory=dict)
    write: Callable[[ResourceClaim], ResourceClaim] | None = None
    create: Callable[[ResourceClaim, PodExtendedResourceClaimStatus], ResourceClaim] | None = None
    remove: Callable[[ResourceClaim], None] | None = None
    _derived: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, objects: Iterable[object]) -> DRAManager:
        """Return a manager of the claims, classes, slices and rules among some objects."""
        made = cls()
        for obj in objects:
            if isinstance(obj, Known):
                made.put(obj)
        return made

    def put(self, obj: Known) -> Known | None:
        """Add or replace an object; return the object that it replaces, or None."""
        before: Known | None
        if isinstance(obj, ResourceClaim):
            key = (obj.namespace or "default", obj.name)
            before, self.claims[key] = self.claims.get(key), obj
        elif isinstance(obj, DeviceClass):
            before, self.classes[obj.name] = self.classes.get(obj.name), obj
        elif isinstance(obj, DeviceTaintRule):
            before, self.rules[obj.name] = self.rules.get(obj.name), obj
            self._derived.clear()
        else:
            before, self.slices[obj.name] = self.slices.get(obj.name), obj
            self._derived.clear()
        return before

    def drop(self, obj: Known) -> None:
        """Remove an object; ignore one that is not known."""
        if isinstance(obj, ResourceClaim):
            self.claims.pop((obj.namespace or "default", obj.name), None)
        elif isinstance(obj, DeviceClass):
            self.classes.pop(obj.name, None)
        else:
            kept: dict[str, Any] = self.rules if isinstance(obj, DeviceTaintRule) else self.slices
            kept.pop(obj.name, None)
            self._derived.clear()

    def find(self, namespace: str, name: str) -> ResourceClaim | None:
        """Return a claim as stored in the API, without an allocation in progress; None = not found."""
        return self.claims.get((namespace or "default", name))

    def save(self, claim: ResourceClaim) -> ResourceClaim:
        """Write a changed claim and return the stored one."""
        stored = self.write(claim) if self.write is not None else claim
        self.put(stored)
        return stored

    def make(self, claim: ResourceClaim, status: PodExtendedResourceClaimStatus) -> ResourceClaim:
        """Create a claim for a pod's extended resources and return it with its generated name.

        Args:
            claim: the claim, owned by the pod.
            status: the entry for the pod's status, without the claim's name.
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
        """Return a value that `make` computes from the slices with the rules; cached by name until one changes."""
        if name not in self._derived:
            rules = sorted(self.rules.values(), key=_name) if self.obeys_rules else []
            self._derived[name] = make(
                with_rules(slice_, rules) if rules else slice_ for slice_ in self.slices.values()
            )
        found: T = self._derived[name]
        return found


def with_rules(given: ResourceSlice, rules: Iterable[DeviceTaintRule]) -> ResourceSlice:
    """Return a slice with the rules' taints on its devices; the same object if no rule selects a device.

    Source: resourceslice/tracker (syncSlice).
    """
    spec = given.spec
    made = None
    for i, device in enumerate(spec.devices):
        added = [rule.spec.taint for rule in rules if rule_matches(rule, spec.driver, spec.pool.name, device.name)]
        if added:
            made = made or deepcopy(given)
            made.spec.devices[i].taints = [*device.taints, *added]
    return made or given


def device_class_of(resource: str, classes: Mapping[str, DeviceClass]) -> DeviceClass | None:
    """Return the class that serves a resource: of several the youngest, then the first by name.

    Source: GetDeviceClass.
    """
    if resource.startswith(IMPLICIT):
        return classes.get(resource.removeprefix(IMPLICIT))
    found = sorted(
        (device_class for device_class in classes.values() if device_class.spec.extended_resource_name == resource),
        key=_name,
    )
    dated = [device_class for device_class in found if device_class.metadata.creation_timestamp is not None]
    # of equally old classes max returns the first, which is the first by name
    return max(dated, key=_created) if dated else next(iter(found), None)


def _name(one: DeviceClass | DeviceTaintRule) -> str:
    return str(one.name)


def _created(device_class: DeviceClass) -> float:
    moment = device_class.metadata.creation_timestamp
    return moment.timestamp() if moment is not None else 0.0


def backed_resources(amounts: Iterable[str], classes: Mapping[str, DeviceClass], release: Release) -> list[str]:
    """Return the resources that a device class serves, sorted."""
    if not classes or not release.enabled(EXTENDED_RESOURCE):
        return []
    names = [name for name in amounts if "/" in name and (name.startswith(IMPLICIT) or is_extended(name))]
    return sorted(name for name in names if device_class_of(name, classes) is not None)
