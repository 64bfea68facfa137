"""ControllerRevisions: the versions of a StatefulSet's or DaemonSet's template.

Source: pkg/controller/history/controller_history.go (NewControllerRevision, SortControllerRevisions,
FindEqualRevisions, UpdateControllerRevision); pkg/controller/statefulset newRevision, pkg/controller/daemon snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from kitlib.api.apps import ControllerRevision
from kitlib.api.core import PodTemplateSpec
from kitlib.api.errors import AlreadyExists
from kitlib.api.meta import ObjectMeta
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy, from_dict, to_dict
from kitlib.apiserver.store.store import age
from kitlib.controllers.controller import Controller
from kitlib.controllers.controller_ref_manager import claim_objects
from kitlib.controllers.pod_control import owner_reference
from kitlib.controllers.template_hash import safe_hash

REVISION_LABEL = "controller-revision-hash"
_HASH_LABEL = {"StatefulSet": "controller.kubernetes.io/hash", "DaemonSet": REVISION_LABEL}
"""The hash label of revisions by kind of the owner.

Source: ControllerRevisionHashLabel, DefaultDaemonSetUniqueLabelKey.
"""


def revisions_of(controller: Controller, owner: Any) -> list[ControllerRevision]:
    """Return the owner's revisions, oldest first, after adopting orphans that its selector matches."""
    found: list[ControllerRevision] = claim_objects(
        controller,
        owner,
        controller.informers.owned_or_orphaned(owner, "ControllerRevision"),
        LabelSelectorMatcher(owner.spec.selector),
    )
    return sorted(found, key=lambda controller_revision: (controller_revision.revision, age(controller_revision)))


_ALWAYS: dict[str, dict[str, Any]] = {
    "containers": {"resources": {}},
    "httpHeaders": {"value": ""},
    "initContainers": {"resources": {}},
    "resourceFieldRef": {"divisor": "0"},
    "sleep": {"seconds": 0},
    "sysctls": {"value": ""},
    "volumeClaimTemplate": {"metadata": {}},
}
"""The fields below a field of a template that Go writes though they are empty."""


def data_of(template: PodTemplateSpec) -> dict[str, Any]:
    """Return the data of a revision: a patch that replaces the template; clients compare its bytes.

    Source: getPatch; daemon Match.
    """
    made: dict[str, Any] = _as_go_writes(_patch(template), "")
    return made


def _patch(template: PodTemplateSpec) -> dict[str, Any]:
    return {"spec": {"template": {**to_dict(template), "$patch": "replace"}}}


def _as_go_writes(value: Any, field: str) -> Any:
    """Return plain data with sorted keys and the empty fields that Go writes."""
    if isinstance(value, list):
        return [_as_go_writes(one, field) for one in value]
    if isinstance(value, dict):
        filled = {**_ALWAYS.get(field, {}), **value}
        return {key: _as_go_writes(filled[key], key) for key in sorted(filled)}
    return value


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """Return the template of a revision. Source: ApplyRevision."""
    kept = dict((revision.data or {}).get("spec", {}).get("template", {}))
    kept.pop("$patch", None)
    made: PodTemplateSpec = from_dict(kept, PodTemplateSpec)
    return made


def sync_revision(controller: Controller, owner: Any, revisions: Sequence[ControllerRevision]) -> ControllerRevision:
    """Return the revision of the owner's template: the newest, an older one with a new number, or a new one.

    Source: getStatefulSetRevisions, controlledHistories.
    """
    data = data_of(owner.spec.template)
    # clusters that an earlier version stored have revisions without the empty fields
    equal = [one for one in revisions if one.data == data or _as_go_writes(one.data, "") == data]
    number = max((revision.revision for revision in revisions), default=0) + 1
    if equal:
        newest = equal[-1]
        if newest.revision == number - 1:
            return newest
        # A rollback: the old revision gets the highest number instead of a copy, so that its pods count as updated.
        changed = deepcopy(newest)
        changed.revision = number
        stored: ControllerRevision = controller.api.store.update(changed)
        return stored
    collisions = int(owner.status.get("collisionCount", 0))
    while True:
        made = _new(owner, data, number, collisions)
        try:
            return controller.api.create(made)
        except AlreadyExists:
            collisions += 1


def _new(owner: Any, data: dict[str, Any], number: int, collisions: int) -> ControllerRevision:
    name = safe_hash(_patch(owner.spec.template), collisions)
    meta = ObjectMeta(
        name=f"{owner.name[:223]}-{name}",
        namespace=owner.namespace,
        labels={**owner.spec.template.metadata.labels, _HASH_LABEL[owner.kind]: name},
        annotations=dict(owner.metadata.annotations),
        owner_references=[owner_reference(owner)],
    )
    return ControllerRevision(metadata=meta, data=data, revision=number)


def truncate(
    controller: Controller, revisions: Sequence[ControllerRevision], live: Collection[str], limit: int | None
) -> None:
    """Delete the oldest revisions beyond the limit that no pod uses. Source: truncateHistory, cleanupHistory.

    Args:
        controller: the controller that deletes.
        revisions: the revisions, oldest first.
        live: the names of the revisions in use.
        limit: the number of unused revisions to keep; None = 10, negative = all.
    """
    if limit is not None and limit < 0:
        return
    unused = [revision for revision in revisions if revision.name not in live]
    for controller_revision in unused[: max(0, len(unused) - (10 if limit is None else limit))]:
        controller.api.delete(ControllerRevision, controller_revision.name, controller_revision.namespace)
