"""Validation of the pod annotations that the API server interprets.

Source: pkg/apis/core/validation ValidatePodSpecificAnnotations, ValidateSeccompPodAnnotations,
ValidateAppArmorPodAnnotations, ValidatePodSpecificAnnotationUpdates.
"""

from __future__ import annotations

import json
import re

import msgspec

from kitlib.api.container import AppArmorProfile, SeccompProfile
from kitlib.api.convert import convert
from kitlib.api.core import Pod, PodSpec, Toleration
from kitlib.api.field_errors import Errors, forbidden, invalid, shown
from kitlib.api.meta import ObjectMeta
from kitlib.api.numbers import MAX_INT32
from kitlib.api.serialize import known_fields
from kitlib.apiserver.validation.paths import validate_local_descending_path
from kitlib.apiserver.validation.pod_os import containers_with_paths
from kitlib.apiserver.validation.scheduling import validate_tolerations

APPARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_PREFIX = "container.seccomp.security.alpha.kubernetes.io/"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
MIRROR_POD = "kubernetes.io/config.mirror"
_SECCOMP_PROFILES = ("runtime/default", "docker/default", "unconfined")
_APPARMOR_PROFILES = ("", "runtime/default", "unconfined")
_LOCALHOST = "localhost/"


def validate_pod_specific_annotations(meta: ObjectMeta, spec: PodSpec, field: str) -> Errors:
    """Source: ValidatePodSpecificAnnotations."""
    found: Errors = []
    mirror = meta.annotations.get(MIRROR_POD)
    if mirror is not None and not spec.node_name:
        detail = "must set spec.nodeName if mirror pod annotation is set"
        found.append(invalid(f"{field}[{MIRROR_POD}]", mirror, detail))
    if meta.annotations.get(TOLERATIONS):
        found += _tolerations(meta.annotations[TOLERATIONS], field)
    cost = meta.annotations.get(DELETION_COST)
    if cost is not None and not (re.fullmatch(r"0|-?[1-9][0-9]*", cost) and -MAX_INT32 - 1 <= int(cost) <= MAX_INT32):
        found.append(invalid(f"{field}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    for key, profile in meta.annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_PREFIX):
            found += _seccomp(profile, f"{field}.{key}")
    for key, profile in meta.annotations.items():
        if key.startswith(APPARMOR_PREFIX):
            found += _app_armor(key, profile, spec, f"{field}[{key}]")
    return found


def _tolerations(text: str, field: str) -> Errors:
    """Check the tolerations in the annotation that preceded the field. Source: ValidateTolerationsInPodAnnotations."""
    try:
        listed = convert(known_fields(json.loads(text), list[Toleration]), list[Toleration])
    except (ValueError, msgspec.ValidationError) as error:  # below msgspec 0.21 the second is no ValueError
        return [invalid(field, TOLERATIONS, str(error))]
    return validate_tolerations(listed, f"{field}.{TOLERATIONS}")


def _seccomp(profile: str, field: str) -> Errors:
    """Source: ValidateSeccompProfile."""
    if profile in _SECCOMP_PROFILES:
        return []
    if profile.startswith(_LOCALHOST):
        return validate_local_descending_path(profile.removeprefix(_LOCALHOST), field)
    return [invalid(field, profile, "must be a valid seccomp profile")]


def validate_annotations_and_fields_match(meta: ObjectMeta, spec: PodSpec, field: str) -> Errors:
    """Check that profiles in annotations match those in fields.

    Source: validateSeccompAnnotationsAndFields, validateAppArmorAnnotationsAndFieldsMatchOnCreate.
    """
    of_pod, found = spec.security_context, []
    annotations = meta.annotations
    if of_pod is not None and SECCOMP_POD in annotations:
        place = f"{field}.securityContext.seccompProfile"
        found += _matches("seccomp", annotations[SECCOMP_POD], of_pod.seccomp_profile, place)
    containers = list(containers_with_paths(spec, field))
    for container, place in containers:
        context, annotation = container.security_context, annotations.get(f"{SECCOMP_PREFIX}{container.name}")
        if context is not None and annotation is not None:
            place += ".securityContext.seccompProfile"
            found += _matches("seccomp", annotation, context.seccomp_profile, place)
    if spec.os is not None and spec.os.name == "windows":
        return found
    for container, place in containers:
        context, annotation = container.security_context, annotations.get(f"{APPARMOR_PREFIX}{container.name}")
        profile = context.app_armor_profile if context is not None else None
        if profile is None and of_pod is not None:
            profile = of_pod.app_armor_profile
        if annotation is not None:
            found += _matches("apparmor", annotation, profile, f"{place}.securityContext.appArmorProfile")
    return found


def _matches(what: str, annotation: str, profile: SeccompProfile | AppArmorProfile | None, field: str) -> Errors:
    """Source: validateSeccompAnnotationsAndFieldsMatch."""
    default = ("runtime/default", "docker/default") if what == "seccomp" else ("runtime/default",)
    names = {"Unconfined": ("unconfined",), "RuntimeDefault": default}
    if profile is None:
        return []
    if profile.type == "Localhost":
        if not annotation.startswith(_LOCALHOST):
            return [forbidden(f"{field}.type", f"{what} type in annotation and field must match")]
        if annotation.removeprefix(_LOCALHOST) != profile.localhost_profile:
            return [forbidden(f"{field}.localhostProfile", f"{what} profile in annotation and field must match")]
    elif annotation not in names.get(profile.type, (annotation,)):
        return [forbidden(f"{field}.type", f"{what} type in annotation and field must match")]
    return []


def _app_armor(key: str, profile: str, spec: PodSpec, field: str) -> Errors:
    """Source: ValidateAppArmorPodAnnotations, ValidateAppArmorProfileFormat."""
    found: Errors = []
    name = key.removeprefix(APPARMOR_PREFIX)
    containers = (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
    if name not in {container.name for container in containers}:
        found.append(invalid(field, name, "container not found"))
    if profile not in _APPARMOR_PROFILES and not profile.startswith(_LOCALHOST):
        found.append(invalid(field, profile, f"invalid AppArmor profile name: {shown(profile)}"))
    return found


def validate_pod_specific_annotation_updates(new: Pod, old: Pod, field: str) -> Errors:
    """Check that AppArmor and mirror pod annotations are unchanged. Source: ValidatePodSpecificAnnotationUpdates."""
    found: Errors = []
    before, after = old.metadata.annotations, new.metadata.annotations
    for key, value in before.items():
        if after.get(key) != value and (key.startswith(APPARMOR_PREFIX) or key == MIRROR_POD):
            what = "mirror pod annotation" if key == MIRROR_POD else "AppArmor annotations"
            found.append(forbidden(f"{field}[{key}]", f"may not remove or update {what}"))
    for key in after:
        if key not in before and (key.startswith(APPARMOR_PREFIX) or key == MIRROR_POD):
            what = "mirror pod annotation" if key == MIRROR_POD else "AppArmor annotations"
            found.append(forbidden(f"{field}[{key}]", f"may not add {what}"))
    return found
