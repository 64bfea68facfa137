"""The handling of custom kinds in a write; its modules are loaded with the first custom object or definition.

Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from kitlib.api.field_errors import Errors
from kitlib.api.meta import KubeObject
from kitlib.apiserver.admission.webhook_calls import WebhookCaller
from kitlib.apiserver.store.store import Store

if TYPE_CHECKING:
    from kitlib.api.apiextensions import CustomResourceDefinition


def is_custom(obj: KubeObject) -> bool:
    """Return whether an object is of a custom kind."""
    return type(obj) is KubeObject


def is_definition(obj: KubeObject) -> TypeGuard[CustomResourceDefinition]:
    """Return whether an object is a CustomResourceDefinition, without loading the type."""
    return not is_custom(obj) and obj.kind == "CustomResourceDefinition"


def is_defined(store: Store, obj: KubeObject) -> bool:
    """Return whether a stored definition serves objects of this kind."""
    from kitlib.apiserver.admission.custom.objects import definition_of

    return definition_of(store, obj.api_version, obj.kind) is not None


def to_storage(store: Store, obj: Any, caller: WebhookCaller | None) -> Any:
    """Return a custom object in the version in which it is stored; an object of a built-in kind is unchanged."""
    if not is_custom(obj):
        return obj
    from kitlib.apiserver.admission.custom import conversion

    return conversion.to_storage(store, obj, caller)


def in_version(store: Store, obj: Any, api_version: str, caller: WebhookCaller | None) -> Any:
    """Return a custom object in another version of its kind; an object of a built-in kind is unchanged."""
    if not is_custom(obj) or obj.api_version == api_version:
        return obj
    from kitlib.apiserver.admission.custom import conversion

    return conversion.converted(store, [obj], api_version, caller)[0]


def served_versions(store: Store, obj: KubeObject) -> list[str]:
    """Return the group and each served version of a custom object's kind."""
    from kitlib.apiserver.admission.custom.conversion import definition_of_kind

    found = definition_of_kind(store, obj)
    return (
        []
        if found is None
        else [f"{found.spec.group}/{version.name}" for version in found.spec.versions if version.served]
    )


def unknown_fields(store: Store, obj: KubeObject) -> list[str]:
    """Return the paths of a custom object's fields that its schema does not have."""
    if not is_custom(obj):
        return []
    from kitlib.apiserver.admission.custom import objects

    return objects.unknown_fields(store, obj)


def completed(store: Store, obj: Any) -> Any:
    """Return a custom object pruned and with its defaults; an object of a built-in kind is unchanged."""
    if not is_custom(obj):
        return obj
    from kitlib.apiserver.admission.custom import objects

    return objects.completed(store, obj)


def prepare(store: Store, obj: KubeObject, old: KubeObject | None) -> None:
    """Set the initial or stored status of a custom object or a definition, in place; `old` is None for a new one."""
    if is_custom(obj) or is_definition(obj):
        from kitlib.apiserver.admission.custom import strategy

        if old is None:
            strategy.prepare_for_create(store, obj)
        else:
            strategy.prepare_for_update(store, obj, old)


def validate_custom(store: Store, obj: KubeObject, old: KubeObject | None) -> Errors:
    """Return the errors of a custom object's values under its schema."""
    if not is_custom(obj):
        return []
    from kitlib.apiserver.admission.custom import objects

    return objects.validate_custom(store, obj, old)


def with_status_of(obj: KubeObject, old: KubeObject) -> KubeObject:
    """Return the old custom object with the new one's status."""
    from kitlib.apiserver.admission.custom import strategy

    return strategy.with_status_of(obj, old)


def has_status_subresource(store: Store, obj: KubeObject) -> bool:
    """Return whether the API serves `/status` of an object."""
    if not is_custom(obj):
        return hasattr(obj, "status")
    from kitlib.apiserver.admission.custom import strategy

    return strategy.has_status_subresource(store, obj)
