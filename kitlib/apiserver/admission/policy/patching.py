"""The mutations of an object: an apply configuration is merged into it, a JSON patch is applied to it.

Source: plugin/policy/mutating/patch (smd.go, json_patch.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitlib.api.decoding import unknown_fields
from kitlib.api.errors import InternalError, KitError, ManifestError
from kitlib.api.meta import KubeObject
from kitlib.api.required_fields import complete
from kitlib.api.serialize import from_dict, to_dict
from kitlib.api.structured_merge import merge
from kitlib.api.typed_patch import atomics, problems
from kitlib.apiserver.store.json_patch import PatchError, UnmetTest, apply_json_patch
from kitlib.cel.library import EvaluationError, type_of
from kitlib.cel.messages import MessageValue, mismatches, plain

Schema = Mapping[str, Any] | None
_TYPES, _NOT_APPLIED = "type mismatch: ", "error applying patch: "


class MutationError(KitError):
    """A mutation that cannot be applied."""


def apply_configuration(obj: KubeObject, value: Any, schema: Schema) -> KubeObject:
    """Merge an `Object{…}` into the object as server-side apply does, without field owners.

    Args:
        obj: the object, which is not changed.
        value: the result of the expression.
        schema: the schema of a custom resource; None for a built-in kind.

    Raises:
        MutationError: the value does not match the object's type, or would replace an atomic list or map.
    """
    if not isinstance(value, MessageValue):
        raise MutationError(f"unsupported return type from ApplyConfiguration expression: {type_of(value)}")
    wrong = mismatches(value)
    if wrong:
        raise MutationError(_TYPES + "\n".join(wrong))
    try:
        patch = {**plain(value), "apiVersion": obj.api_version, "kind": obj.kind}
    except EvaluationError as error:
        raise MutationError(f"invalid return type: {error}") from None
    shape = schema or type(obj)
    problem = problems(patch, shape)
    if problem:
        raise MutationError(f"{_NOT_APPLIED}failed to convert patch object to typed object: {problem}")
    whole = atomics(patch, shape)
    if whole:
        listed = ", ".join(whole)
        raise MutationError(
            f"{_NOT_APPLIED}invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {listed}"
        )
    try:
        return _decoded(merge(to_dict(obj), patch, shape), obj)
    except ManifestError as error:
        raise MutationError(error.cause or error.problem) from None


def json_patch(obj: KubeObject, value: list[Any], schema: Schema) -> KubeObject:
    """Apply a list of `JSONPatch{…}`; if a `test` operation fails, return the object itself.

    Raises:
        MutationError: an operation cannot be applied.
        InternalError: the result is not a valid object of the kind.
    """
    operations = [_operation(one) for one in value]
    data = complete(to_dict(obj))
    try:
        patched = apply_json_patch(data, operations)
    except UnmetTest:
        return obj
    except PatchError as error:
        raise MutationError(f"JSONPath: {error}") from None
    except RecursionError:
        raise MutationError("JSONPath: the patch makes an object of too many levels") from None
    try:
        made = _decoded(patched, obj)
    except ManifestError as error:
        raise InternalError(f"Internal error occurred: {error.cause or error.problem}") from None
    new = _unknown(patched, obj) - _unknown(data, obj)  # unknown fields of the stored object are kept
    if new:
        listed = ", ".join(f'unknown field "{field}"' for field in sorted(new))
        raise InternalError(f"Internal error occurred: strict decoding error: {listed}")
    return made


def _unknown(data: Any, obj: KubeObject) -> set[str]:
    return set() if type(obj) is KubeObject else set(unknown_fields(data, type(obj)))


def _operation(one: Any) -> dict[str, Any]:
    """Convert a `JSONPatch{…}` to a JSON patch operation. Source: evaluatePatchExpression."""
    if not isinstance(one, MessageValue):
        raise MutationError(f"{_TYPES}JSONPatchType.expression should evaluate to array of JSONPatch: {type_of(one)}")
    made = {"op": one["op"], "path": one["path"]}
    if "from" in one:
        made["from"] = one["from"]
    if "value" in one:
        value = one["value"]
        wrong = mismatches(value) if isinstance(value, MessageValue) else []
        if wrong:
            raise MutationError(_TYPES + "\n".join(wrong))
        try:
            made["value"] = plain(value)
        except EvaluationError as error:
            words = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
            raise MutationError(f"{words}: {error}") from None
    return made


def _decoded(data: Any, obj: KubeObject) -> KubeObject:
    """Decode a patched object.

    Raises:
        ManifestError: the data are not an object of the same version and kind.
    """
    made: KubeObject = from_dict(data, type(obj))
    if (made.api_version, made.kind) != (obj.api_version, obj.kind):
        version, kind = obj.api_version, obj.kind
        raise ManifestError(f"a patch must leave apiVersion {version!r} and kind {kind!r} as they are")
    return made


PATCHES = {"ApplyConfiguration": apply_configuration, "JSONPatch": json_patch}
"""Patch type -> the function that applies it."""
