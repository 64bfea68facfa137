"""Validation of metadata: names, labels, annotations, owners, finalizers; and of label selectors.

Sources: apimachinery api/validation (objectmeta.go, generic.go), apis/meta/v1/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kitlib.api.field_errors import (
    Errors,
    each,
    forbidden,
    invalid,
    required,
    too_long_value,
    validate_immutable_field,
    validate_nonnegative_field,
)
from kitlib.api.go_values import go_quote
from kitlib.api.meta import LabelSelector, ObjectMeta, OwnerReference
from kitlib.api.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    is_qualified_name,
    is_valid_label_value,
)

NameRule = Callable[[str], tuple[str, ...]]
name_is_dns_subdomain: NameRule = is_dns1123_subdomain
name_is_dns_label: NameRule = is_dns1123_label
validate_path_segment_name: NameRule = is_path_segment_name

MAX_ANNOTATIONS = 256 * 1024
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_NO_OWNER_KINDS = {("v1", "Event")}


def validate_object_meta(
    meta: ObjectMeta,
    *,
    namespaced: bool,
    name_rule: NameRule = name_is_dns_subdomain,
    field: str = "metadata",
    known_finalizers: bool = True,
) -> Errors:
    """Check name, namespace, labels, annotations, owners and finalizers of a new object.

    Args:
        meta: the metadata.
        namespaced: whether the kind is namespaced.
        name_rule: the rule of the kind's names.
        field: the path of the metadata.
        known_finalizers: whether a finalizer without a domain must be one of Kubernetes' own; it need not be for
            PodDisruptionBudgets, CustomResourceDefinitions and custom resources.

    Source: ValidateObjectMetaAccessor, core ValidateObjectMeta.
    """
    found: Errors = []
    if meta.generate_name:
        found += each(f"{field}.generateName", meta.generate_name, name_rule(_masked(meta.generate_name)))
    if meta.name:
        found += each(f"{field}.name", meta.name, name_rule(meta.name))
    elif not meta.generate_name:
        found.append(required(f"{field}.name", "name or generateName is required"))
    if namespaced:
        if not meta.namespace:
            found.append(required(f"{field}.namespace"))
        else:
            found += each(f"{field}.namespace", meta.namespace, is_dns1123_label(meta.namespace))
    elif meta.namespace:
        found.append(forbidden(f"{field}.namespace", "not allowed on this type"))
    found += validate_nonnegative_field(meta.generation, f"{field}.generation")
    found += validate_labels(meta.labels, f"{field}.labels")
    found += validate_annotations(meta.annotations, f"{field}.annotations")
    if meta.owner_references:
        found += validate_owner_references(meta.owner_references, f"{field}.ownerReferences")
    if meta.finalizers:
        found += validate_finalizers(meta.finalizers, f"{field}.finalizers", known=known_finalizers)
    return found


def _masked(prefix: str) -> str:
    """Replace the dash at the end of a prefix, which is valid there. Source: maskTrailingDash."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def validate_object_meta_update(
    new: ObjectMeta, old: ObjectMeta, field: str = "metadata", *, known_finalizers: bool = True
) -> Errors:
    """Check that name, namespace and UID are unchanged, and the new labels and annotations.

    Source: ValidateObjectMetaUpdate.
    """
    found = validate_immutable_field(new.name, old.name, f"{field}.name")
    found += validate_immutable_field(new.namespace, old.namespace, f"{field}.namespace")
    if new.uid and old.uid:
        found += validate_immutable_field(new.uid, old.uid, f"{field}.uid")
    if old.deletion_timestamp is not None:
        more = [name for name in new.finalizers if name not in old.finalizers]
        if more:
            listed = ", ".join(map(go_quote, sorted(set(more))))
            detail = (
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{listed}}}"
            )
            found.append(forbidden(f"{field}.finalizers", detail))
    found += validate_labels(new.labels, f"{field}.labels")
    found += validate_annotations(new.annotations, f"{field}.annotations")
    found += validate_owner_references(new.owner_references, f"{field}.ownerReferences")
    return found + (_kube_finalizers(new.finalizers, f"{field}.finalizers") if known_finalizers else [])


def validate_owner_references(owners: Sequence[OwnerReference], field: str) -> Errors:
    """Check the owners, at most one of which is the controller. Source: ValidateOwnerReferences."""
    found: Errors = []
    controller: OwnerReference | None = None
    for owner in owners:
        version = owner.api_version.rpartition("/")[2] if owner.api_version.count("/") < 2 else ""
        if not version:
            found.append(invalid(f"{field}.apiVersion", owner.api_version, "version must not be empty"))
        if not owner.kind:
            found.append(invalid(f"{field}.kind", owner.kind, "must not be empty"))
        if not owner.name:
            found.append(invalid(f"{field}.name", owner.name, "must not be empty"))
        if not owner.uid:
            found.append(invalid(f"{field}.uid", owner.uid, "must not be empty"))
        if (owner.api_version, owner.kind) in _NO_OWNER_KINDS:
            found.append(
                invalid(field, owner, f"/{owner.api_version}, Kind={owner.kind} is disallowed from being an owner")
            )
        if owner.controller:
            if controller is not None:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller.kind}/{controller.name} and {owner.kind}/{owner.name}"
                )
                found.append(invalid(field, list(owners), detail))
            else:
                controller = owner
    return found


def validate_finalizers(names: Sequence[str], field: str, *, known: bool = True) -> Errors:
    """Source: ValidateFinalizers."""
    found: Errors = []
    for name in names:
        found += each(field, name, is_qualified_name(name))
    if "orphan" in names and "foregroundDeletion" in names:
        found.append(invalid(field, list(names), "finalizer orphan and foregroundDeletion cannot be both set"))
    return found + (_kube_finalizers(names, field) if known else [])


def _kube_finalizers(names: Sequence[str], field: str) -> Errors:
    """Source: validateKubeFinalizerName."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"{field}[{i}]", name, detail)
        for i, name in enumerate(names)
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def validate_labels(values: Mapping[str, str], field: str) -> Errors:
    """Check the keys and values of labels or of a node selector. Source: metav1 ValidateLabels."""
    found: Errors = []
    for key, value in values.items():
        wrong = is_qualified_name(key)
        if wrong:
            found += each(field, key, wrong)
        wrong = is_valid_label_value(value)
        if wrong:
            found += each(field, value, wrong)
    return found


def validate_label_name(name: str, field: str) -> Errors:
    """Source: metav1 ValidateLabelName."""
    return each(field, name, is_qualified_name(name))


def validate_annotations(values: Mapping[str, str], field: str) -> Errors:
    """Check the keys and the total size of annotations. Source: ValidateAnnotations."""
    found: Errors = []
    for key in values:
        wrong = is_qualified_name(key.lower())
        if wrong:
            found += each(field, key, wrong)
    if sum(len(k.encode()) + len(v.encode()) for k, v in values.items()) > MAX_ANNOTATIONS:
        found.append(too_long_value(field, MAX_ANNOTATIONS))
    return found


def validate_label_selector(selector: LabelSelector | None, field: str) -> Errors:
    """Source: metav1 ValidateLabelSelector, ValidateLabelSelectorRequirement."""
    if selector is None:
        return []
    found = validate_labels(selector.match_labels, f"{field}.matchLabels")
    for i, requirement in enumerate(selector.match_expressions):
        place = f"{field}.matchExpressions[{i}]"
        if requirement.operator in ("In", "NotIn"):
            if not requirement.values:
                found.append(required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif requirement.operator in ("Exists", "DoesNotExist"):
            if requirement.values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(forbidden(f"{place}.values", detail))
        else:
            found.append(invalid(f"{place}.operator", requirement.operator, "not a valid selector operator"))
        found += validate_label_name(requirement.key, f"{place}.key")
        for j, value in enumerate(requirement.values):
            found += each(f"{place}.values[{j}]", value, is_valid_label_value(value))
    return found


def validate_template_object_meta(meta: ObjectMeta, field: str) -> Errors:
    """Check that a template has only labels and annotations; upstream lower-cases the Go names, so `UID` becomes `uID`.

    Source: ValidateTemplateObjectMeta, validateFieldAllowList.
    """
    found = validate_annotations(meta.annotations, f"{field}.annotations") + validate_labels(
        meta.labels, f"{field}.labels"
    )
    for attribute, name in (
        ("name", "name"),
        ("generate_name", "generateName"),
        ("namespace", "namespace"),
        ("self_link", "selfLink"),
        ("uid", "uID"),
        ("resource_version", "resourceVersion"),
        ("generation", "generation"),
        ("creation_timestamp", "creationTimestamp"),
        ("deletion_timestamp", "deletionTimestamp"),
        ("deletion_grace_period_seconds", "deletionGracePeriodSeconds"),
        ("owner_references", "ownerReferences"),
        ("finalizers", "finalizers"),
        ("managed_fields", "managedFields"),
    ):
        if getattr(meta, attribute):
            found.append(forbidden(f"{field}.{name}", "cannot be set"))
    return found
