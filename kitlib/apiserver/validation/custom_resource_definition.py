"""Validation of CustomResourceDefinitions: group, names, versions.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation.
"""

from __future__ import annotations

from kitlib.api.apiextensions import CustomResourceDefinition, CustomResourceDefinitionVersion
from kitlib.api.field_errors import Errors, GoStruct, each, invalid, not_supported, required
from kitlib.api.meta import is_condition_true
from kitlib.api.names import is_dns1035_label, is_dns1123_subdomain
from kitlib.apiserver.validation.custom_resource_parts import (
    validate_api_approval,
    validate_column,
    validate_conversion,
    validate_subresources,
)
from kitlib.apiserver.validation.custom_resource_schema import validate_schema
from kitlib.apiserver.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.apiserver.validation.rules import Rules

SCOPES = ("Cluster", "Namespaced")
_ONE_STORAGE = "must have exactly one version marked as storage version"
_PRESERVE = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"


def validate_custom_resource_definition(obj: CustomResourceDefinition) -> Errors:
    """Source: ValidateCustomResourceDefinition."""
    found = validate_object_meta(obj.metadata, namespaced=False, known_finalizers=False)
    spec = obj.spec
    if obj.metadata.name and obj.metadata.name != f"{spec.names.plural}.{spec.group}":
        detail = 'must be spec.names.plural+"."+spec.group'
        found.append(invalid("metadata.name", obj.metadata.name, detail))
    found += _group(obj)
    if not spec.scope:
        found.append(required("spec.scope"))
    elif spec.scope not in SCOPES:
        found.append(not_supported("spec.scope", spec.scope, SCOPES))
    if spec.preserve_unknown_fields:
        found.append(invalid("spec.preserveUnknownFields", True, _PRESERVE))
    found += _versions(obj)
    found += _names(obj)
    found += _parts_of_versions(spec.versions)
    found += validate_conversion(spec.conversion, "spec.conversion")
    if not any(version.storage for version in spec.versions):
        found.append(invalid("status.storedVersions", None, "must have at least one stored version"))
    return found + validate_api_approval(obj)


def _group(obj: CustomResourceDefinition) -> Errors:
    group = obj.spec.group
    if not group:
        return [required("spec.group")]
    wrong = is_dns1123_subdomain(group)
    if wrong:
        return [invalid("spec.group", group, ",".join(wrong))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _parts_of_versions(versions: list[CustomResourceDefinitionVersion]) -> Errors:
    """Check columns and subresources; the internal type has them at the top level if all versions share them."""
    found: Errors = []
    alike = all(v.additional_printer_columns == versions[0].additional_printer_columns for v in versions)
    for i, version in enumerate(versions[:1] if alike else versions):
        root = "spec" if alike else f"spec.versions[{i}]"
        for j, column in enumerate(version.additional_printer_columns):
            found += validate_column(column, f"{root}.additionalPrinterColumns[{j}]")
    alike = all(v.subresources == versions[0].subresources for v in versions)
    for i, version in enumerate(versions[:1] if alike else versions):
        root = "spec" if alike else f"spec.versions[{i}]"
        found += validate_subresources(version.subresources, f"{root}.subresources")
    return found


def _versions(obj: CustomResourceDefinition) -> Errors:
    versions = obj.spec.versions
    shown = _shown(versions)
    found: Errors = []
    names = [version.name for version in versions]
    for i, version in enumerate(versions):
        place = f"spec.versions[{i}]"
        wrong = is_dns1035_label(version.name)
        if wrong:
            found.append(invalid(f"{place}.name", version.name, ",".join(wrong)))
        if version.schema is None or version.schema.open_api_v3_schema is None:
            found.append(required(f"{place}.schema.openAPIV3Schema"))
    if len(set(names)) != len(names):
        found.append(invalid("spec.versions", shown, "must contain unique version names"))
    if sum(version.storage for version in versions) != 1:
        found.append(invalid("spec.versions", shown, _ONE_STORAGE))
    alike = len({repr(version.schema) for version in versions}) <= 1
    for i, version in enumerate(versions):
        if version.schema is not None and version.schema.open_api_v3_schema is not None:
            root = "spec.validation" if alike else f"spec.versions[{i}].schema"
            found += validate_schema(version.schema.open_api_v3_schema, f"{root}.openAPIV3Schema")
            if alike:
                break
    return found


def _shown(versions: list[CustomResourceDefinitionVersion]) -> list[GoStruct] | None:
    """Return the versions as the message prints them; shared parts are at the top level of the internal type."""
    alike = len({repr((v.schema, v.subresources, v.additional_printer_columns)) for v in versions}) <= 1
    return [
        GoStruct(
            {
                "Name": version.name,
                "Served": version.served,
                "Storage": version.storage,
                "Deprecated": version.deprecated,
                "DeprecationWarning": version.deprecation_warning,
                "Schema": None if alike else version.schema,
                "Subresources": None if alike else version.subresources,
                "AdditionalPrinterColumns": None if alike else version.additional_printer_columns or None,
                "SelectableFields": None if alike else version.selectable_fields or None,
            }
        )
        for version in versions
    ] or None


def _names(obj: CustomResourceDefinition) -> Errors:
    """Source: ValidateCustomResourceDefinitionNames, validateCustomResourceDefinitionNames."""
    names = obj.spec.names
    found: Errors = []
    for name, value in (
        ("plural", names.plural),
        ("singular", names.singular),
        ("kind", names.kind),
        ("listKind", names.list_kind),
    ):
        place = f"spec.names.{name}"
        if not value:
            found.append(required(place))
            continue
        mixed = name in ("kind", "listKind")
        wrong = is_dns1035_label(value.lower() if mixed else value)
        if wrong:
            text = ",".join(wrong)
            prefix = "may have mixed case, but should otherwise match: " if mixed else ""
            found.append(invalid(place, value, prefix + text))
    for i, short in enumerate(names.short_names):
        found += each(f"spec.names.shortNames[{i}]", short, is_dns1035_label(short))
    if names.kind and names.kind == names.list_kind:
        found.append(invalid("spec.names.listKind", names.list_kind, "kind and listKind may not be the same"))
    for i, category in enumerate(names.categories):
        found += each(f"spec.names.categories[{i}]", category, is_dns1035_label(category))
    return found


def validate_custom_resource_definition_update(new: CustomResourceDefinition, old: CustomResourceDefinition) -> Errors:
    """Check that an update keeps group and plural, and, once established, scope and kind.

    Source: ValidateCustomResourceDefinitionUpdate, validateCustomResourceDefinitionSpecUpdate.
    """
    found = validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False)
    found += validate_custom_resource_definition(new)
    ours, theirs = new.spec, old.spec
    kept = [("group", ours.group, theirs.group), ("names.plural", ours.names.plural, theirs.names.plural)]
    if is_condition_true(old.status.conditions, "Established"):
        kept = [("scope", ours.scope, theirs.scope), ("names.kind", ours.names.kind, theirs.names.kind), *kept]
    for name, value, before in kept:
        if value != before:
            found.append(invalid(f"spec.{name}", value, "field is immutable"))
    return found


KINDS: Rules = {
    CustomResourceDefinition: (validate_custom_resource_definition, validate_custom_resource_definition_update),
}
