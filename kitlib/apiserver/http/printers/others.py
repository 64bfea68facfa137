"""Rows of nodes, volumes, quotas, events, roles and other kinds. Source: pkg/printers/internalversion/printers.go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kitlib.apiserver.http.printers.text import Object, access_modes, age, conditions, created

_ROLE = "node-role.kubernetes.io/"


def _name(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("name", ""))


def print_node(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    ready = conditions(obj).get("Ready")
    words = ["Unknown"] if ready is None else ["Ready" if ready.get("status") == "True" else "NotReady"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    marks = obj.get("metadata", {}).get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in marks if key.startswith(_ROLE) and key != _ROLE}
    if marks.get("kubernetes.io/role"):
        roles.add(marks["kubernetes.io/role"])
    info = status.get("nodeInfo") or {}
    addresses = {a.get("type"): a.get("address") for a in reversed(status.get("addresses") or [])}
    return [
        _name(obj),
        ",".join(words),
        ",".join(sorted(roles)) or "<none>",
        created(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or "<none>",
        addresses.get("ExternalIP") or "<none>",
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def print_event(obj: Object, now: datetime) -> list[Any]:
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    last = obj.get("lastTimestamp") or first
    count = obj.get("count") or 1
    series = obj.get("series")
    if series:
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return [
        age(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        str(obj.get("message") or obj.get("note") or "").strip(),
        age(first, now),
        count,
        _name(obj),
    ]


def print_namespace(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), (obj.get("status") or {}).get("phase", ""), created(obj, now)]


def print_secret(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), obj.get("type") or "Opaque", len(obj.get("data") or ()), created(obj, now)]


def print_config_map(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), created(obj, now)]


def print_persistent_volume(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status") or {}
    claim = spec.get("claimRef")
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    return [
        _name(obj),
        str((spec.get("capacity") or {}).get("storage", "0")),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(obj),
        spec.get("volumeAttributesClassName") or "<unset>",
        status.get("reason", ""),
        created(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def print_persistent_volume_claim(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status") or {}
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    bound = bool(spec.get("volumeName"))
    return [
        _name(obj),
        phase,
        spec.get("volumeName", ""),
        str((status.get("capacity") or {}).get("storage", "0")) if bound else "",
        access_modes(status.get("accessModes")) if bound else "",
        _class(obj),
        spec.get("volumeAttributesClassName") or "<unset>",
        created(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def _class(obj: Object) -> str:
    """Return the storage class of a volume or claim. Source: helper GetPersistentVolumeClass."""
    marks = obj.get("metadata", {}).get("annotations") or {}
    found = marks.get("volume.beta.kubernetes.io/storage-class")
    return str(found if found is not None else obj.get("spec", {}).get("storageClassName") or "")


def print_storage_class(obj: Object, now: datetime) -> list[Any]:
    marks = obj.get("metadata", {}).get("annotations") or {}
    keys = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
    default = any(marks.get(key) == "true" for key in keys)
    return [
        f"{_name(obj)} (default)" if default else _name(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        created(obj, now),
    ]


def print_resource_quota(obj: Object, now: datetime) -> list[Any]:
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        text = f"{name}: {used.get(name, 0)}/{hard[name]}"
        (limits if name.startswith("limits.") else requests).append(text)
    return [_name(obj), ", ".join(requests), ", ".join(limits), created(obj, now)]


def print_priority_class(obj: Object, now: datetime) -> list[Any]:
    policy = obj.get("preemptionPolicy") or "PreemptLowerPriority"
    return [_name(obj), obj.get("value", 0), bool(obj.get("globalDefault")), created(obj, now), policy]


def print_role_binding(obj: Object, now: datetime) -> list[Any]:
    role = obj.get("roleRef") or {}
    subjects = obj.get("subjects") or ()
    users = [s.get("name", "") for s in subjects if s.get("kind") == "User"]
    groups = [s.get("name", "") for s in subjects if s.get("kind") == "Group"]
    accounts = [f"{s.get('namespace', '')}/{s.get('name', '')}" for s in subjects if s.get("kind") == "ServiceAccount"]
    shown = (", ".join(users), ", ".join(groups), ", ".join(accounts))
    return [_name(obj), f"{role.get('kind', '')}/{role.get('name', '')}", created(obj, now), *shown]


def print_creation_time(obj: Object, now: datetime) -> list[Any]:
    """Return name and creation time, for ClusterRole, LimitRange and CustomResourceDefinition."""
    return [_name(obj), obj.get("metadata", {}).get("creationTimestamp", "")]


def print_definition(obj: Object, now: datetime) -> list[Any]:
    """Return the row of a CustomResourceDefinition with its served versions, as shown since 1.37."""
    spec = obj.get("spec", {})
    served = [one for one in spec.get("versions") or () if one.get("served")]
    versions = sorted(one["name"] + ("(storage)" if one.get("storage") else "") for one in served)
    names = spec.get("names", {})
    conditions = obj.get("status", {}).get("conditions") or ()
    established = any(
        condition.get("type") == "Established" and condition.get("status") == "True" for condition in conditions
    )
    shown = [spec.get("group", ""), names.get("kind", ""), ",".join(names.get("shortNames") or ()), established]
    return [_name(obj), spec.get("scope", ""), ",".join(versions), *print_creation_time(obj, now)[1:], *shown]


def print_lease(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), obj.get("spec", {}).get("holderIdentity", ""), created(obj, now)]


def print_runtime_class(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), obj.get("handler", ""), created(obj, now)]


def print_csi_node(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), len(obj.get("spec", {}).get("drivers") or ()), created(obj, now)]


def print_csi_driver(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    tokens = ",".join(t.get("audience", "") for t in spec.get("tokenRequests") or ()) or "<unset>"
    modes = ",".join(spec.get("volumeLifecycleModes") or ("Persistent",))
    return [
        _name(obj),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        tokens,
        bool(spec.get("requiresRepublish")),
        modes,
        created(obj, now),
    ]


def print_volume_attachment(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    volume = (spec.get("source") or {}).get("persistentVolumeName", "")
    attached = bool((obj.get("status") or {}).get("attached"))
    return [_name(obj), spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, created(obj, now)]


def print_resource_claim(obj: Object, now: datetime) -> list[Any]:
    """Return the row of a ResourceClaim. Source: printers resourceClaimState."""
    status = obj.get("status") or {}
    states = ["deleted"] if obj.get("metadata", {}).get("deletionTimestamp") else []
    if status.get("allocation"):
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return [_name(obj), ",".join(states), created(obj, now)]


def print_resource_slice(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    node = spec.get("nodeName") or ("<all>" if spec.get("allNodes") else "<some>" if spec.get("nodeSelector") else "")
    return [_name(obj), node, spec.get("driver", ""), (spec.get("pool") or {}).get("name", ""), created(obj, now)]


def print_name_and_age(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), created(obj, now)]
