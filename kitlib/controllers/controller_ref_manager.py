"""Ownership of objects: a controller adopts matching orphans and releases its objects that no longer match.

Source: pkg/controller/controller_ref_manager.go (BaseControllerRefManager.ClaimObject, AdoptPod, ReleasePod).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kitlib.api.core import PodTemplateSpec, ReplicationController
from kitlib.api.errors import NotFound
from kitlib.api.meta import KubeObject, LabelSelector
from kitlib.api.selectors import LabelSelectorMatcher, format_label_selector
from kitlib.api.serialize import deepcopy, to_dict
from kitlib.controllers.controller import Controller
from kitlib.controllers.informers import Delta, controller_of
from kitlib.controllers.pod_control import owner_reference


def selector_of(owner: Any) -> LabelSelectorMatcher:
    """Return the selector of a workload; that of a ReplicationController is a plain map of labels."""
    selector = owner.spec.selector
    if isinstance(owner, ReplicationController):
        template: PodTemplateSpec | None = owner.spec.template
        labels = selector or (template.metadata.labels if template else {})
        return LabelSelectorMatcher(LabelSelector(match_labels=labels) if labels else None)
    return LabelSelectorMatcher(selector)


def selector_text(owner: Any) -> str:
    """Return a workload's selector as its scale shows it: `app=web,tier in (a,b)`. Source: LabelSelectorAsSelector."""
    selector = owner.spec.selector
    return format_label_selector(
        to_dict(selector) if isinstance(selector, LabelSelector) else {"matchLabels": selector}
    )


def enqueue_orphan(controller: Controller, change: Delta, kind: str) -> None:
    """Queue the owners that could adopt an orphan that is new, or whose labels or controller have changed.

    Args:
        controller: the controller with the queue.
        change: the change of the object; deleted objects and objects with a controller are ignored.
        kind: the kind of the possible owners.

    Source: the second halves of addPod and updatePod (labelChanged || controllerRefChanged).
    """
    old, new = change.old, change.new
    if change.type == "DELETED" or controller_of(new) is not None:
        return
    if old is None or old.metadata.labels != new.metadata.labels or controller_of(old) is not None:
        for owner in controller.informers.of_namespace(kind, new.metadata.namespace):
            if selector_of(owner).matches(new.metadata.labels):
                controller.enqueue(owner)


def claim_objects(
    controller: Controller,
    owner: KubeObject,
    candidates: Iterable[Any],
    selector: LabelSelectorMatcher,
    fits: Callable[[Any], bool] = lambda obj: True,
    *,
    finalizer: str = "",
) -> list[Any]:
    """Adopt and release objects, and return those that `owner` controls then.

    Args:
        controller: the controller that writes.
        owner: the controlling object.
        candidates: the objects that it controls, and objects without a controller.
        selector: the owner's selector; evaluated once for objects that share their labels, as those of a template do.
        fits: a further condition for objects, such as a name.
        finalizer: the finalizer that is added on adoption and removed on release; "" = none.

    Source: ClaimObject, AdoptPod, ReleasePod.
    """
    claimed, uid, leaving = [], owner.metadata.uid, owner.metadata.deletion_timestamp is not None
    selected: dict[int, bool] = {}
    for obj in candidates:
        meta = obj.metadata
        reference = controller_of(obj)
        # Objects of other controllers are never taken over, even if the selectors overlap.
        if reference is not None and reference.uid != uid:
            continue
        # Stored pods of one template share a dict of labels (Store._share_parts), so its identity is a valid key here.
        matches = selected.get(id(meta.labels))
        if matches is None:
            matches = selected[id(meta.labels)] = selector.matches(meta.labels)
        matches = matches and fits(obj)
        if reference is not None and matches:  # the common case in a large set
            claimed.append(obj)
        # An owner that is being deleted neither adopts nor releases: the garbage collector decides about its objects.
        elif leaving:
            continue
        elif reference is not None:
            kept = [one for one in meta.finalizers if one != finalizer]
            _write(controller, obj, [r for r in meta.owner_references if r.uid != uid], kept)
        elif matches and meta.deletion_timestamp is None:
            kept = [*meta.finalizers, finalizer] if finalizer and finalizer not in meta.finalizers else meta.finalizers
            adopted = _write(controller, obj, [*meta.owner_references, owner_reference(owner)], kept)
            if adopted is not None:
                claimed.append(adopted)
    return claimed


def _write(controller: Controller, obj: KubeObject, references: list[Any], finalizers: list[str]) -> KubeObject | None:
    changed = deepcopy(obj)
    changed.metadata.owner_references, changed.metadata.finalizers = references, finalizers
    try:
        return controller.api.store.update(changed)
    except NotFound:
        return None
