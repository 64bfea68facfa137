"""Conversion of YAML and JSON to objects and back: multi-document files, lists, unknown fields.

A manifest becomes plain data, and the plain data becomes typed objects (`convert`). Fields that a type does not
declare are kept in `KubeStruct.unknown_fields` and written out again in their place. Null fields count as absent, as
in the API server.

Source: k8s.io/apimachinery/pkg/runtime/serializer; sigs.k8s.io/yaml.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import types
import typing
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import IO, Any, NamedTuple, TypeVar, overload

import msgspec

from kitlib.api import boundary, decoding, serialize_fast
from kitlib.api.api_groups import stored_as
from kitlib.api.api_groups import type_of as type_of
from kitlib.api.collector import collector_paused
from kitlib.api.convert import convert
from kitlib.api.copying import deepcopy as deepcopy
from kitlib.api.errors import ManifestError
from kitlib.api.meta import KubeObject, KubeStruct
from kitlib.api.resource import FORMAT_WRONG, Quantity, QuantityError

T = TypeVar("T", bound=KubeObject)
StructT = TypeVar("StructT", bound=KubeStruct)
Source = str | bytes | os.PathLike[str] | IO[str] | IO[bytes]


def load(source: Source, *, strict: bool = False) -> list[KubeObject]:
    """Read every object of a manifest: documents in order, lists (`kind: List`, `kind: PodList`) expanded.

    Args:
        source: a path, an open file, or the text itself (a string with a line break or a "{" is text).
        strict: whether to reject fields that the kind does not have, as `kubectl apply` does.

    Raises:
        ManifestError: a document is invalid; the error has file, document number and field path. Nothing is returned.
    """
    return [located.object for located in load_located(source, strict=strict)]


class Located(NamedTuple):
    """An object and its source: the file ("" for text) and the document's number in it, from 1.

    Attributes:
        data: the plain data, which still has the nulls that the object lacks; None unless it was requested.
    """

    object: KubeObject
    file: str
    document: int
    data: dict[str, Any] | None = None


def load_located(source: Source, *, strict: bool = False, keep_data: bool = False) -> list[Located]:
    """Read objects like `load`, each with its source, for later error messages, and with its data if `keep_data`."""
    text, name = read_source(source)
    if not keep_data and len(text) > boundary.LARGE:
        from kitlib.api import serialize_lists

        quickly = serialize_lists.read(text, name, _decode)
        if quickly is not None:
            return [located for part in quickly for located in _located(part, name, strict)]
    # JSON has no aliases: no part of the data occurs twice, so nulls can be removed in place.
    mend = not keep_data and text.lstrip()[:1] in ("{", b"{")
    found: list[Located] = []
    with collector_paused():
        for number, document in enumerate(_documents(text, name), start=1):
            if document is None:
                continue
            for data in _expand(document, name, number):
                made = _object(data, None, name, number, strict, mend)
                found.append(Located(made, name, number, data if keep_data else None))
    return found


def _located(part: Any, name: str, strict: bool) -> list[Located]:
    """Return the object of a large list, or the objects of the plain data of a list."""
    if isinstance(part, KubeObject):
        return [Located(part, name, 1)]
    return [Located(_object(document, None, name, 1, strict, True), name, 1) for document in _expand(part, name, 1)]


def known_fields(data: Any, hint: Any) -> Any:
    """Return plain data without the fields that a type does not declare, and without nulls, as Go reads it.

    Args:
        data: the plain data.
        hint: the type, for example `list[Taint]`.
    """
    return _without_nulls(data, _shape(hint), (), [])


def load_data(text: str | bytes, name: str = "") -> Any:
    """Return the plain data of the first document of a YAML or JSON text; None for an empty text.

    Args:
        text: the YAML or JSON text.
        name: the file's name, for messages.

    Raises:
        ManifestError: the text is neither YAML nor JSON.
    """
    return next(iter(_documents(text, name)), None)


@overload
def from_dict(data: dict[str, Any], type_: type[StructT], *, strict: bool = False) -> StructT: ...
@overload
def from_dict(data: dict[str, Any], type_: None = None, *, strict: bool = False) -> Any: ...
def from_dict(data: dict[str, Any], type_: type[Any] | None = None, *, strict: bool = False) -> Any:
    """Return one object made from plain data.

    Args:
        data: the manifest; not changed.
        type_: the object's type, for data without `apiVersion` and `kind`.
        strict: whether to reject fields that the type does not declare.

    Raises:
        ManifestError: the data does not fit the type; the error has the field's path.
    """
    return _object(data, type_, "", 0, strict)


def read_source(source: Source, most: int = boundary.MAX_BYTES + 1) -> tuple[str | bytes, str]:
    """Return a source's text and name ("" for text), reading at most `most` bytes of a file."""
    if isinstance(source, bytes):
        return source, ""
    if isinstance(source, str) and ("\n" in source or "{" in source or (":" in source and not os.path.exists(source))):
        return source, ""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        try:
            with open(path, "rb") as file:
                return file.read(most), path
        except OSError as error:
            raise ManifestError(f"cannot be read: {error.strerror or error}", file=path) from error
    return source.read(boundary.MAX_BYTES + 1), str(getattr(source, "name", ""))


def _documents(text: str | bytes, file: str) -> Iterator[Any]:
    boundary.check_size(text, file)
    stripped = text.lstrip()
    if stripped[:1] in ("{", b"{", "[", b"["):
        try:
            document = boundary.json_document(stripped, file)
        except json.JSONDecodeError:
            pass  # flow-style YAML begins like JSON
        else:
            yield document
            return
    quickly = serialize_fast.documents(text)
    if quickly is not None:
        yield from quickly
        return
    from kitlib.api.yaml_reader import yaml_documents

    yield from yaml_documents(text, file)


def _expand(document: Any, file: str, number: int) -> Iterator[Any]:
    kind = document.get("kind") if isinstance(document, dict) else None
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list)):
        yield document
        return
    for item in document["items"]:
        if isinstance(item, dict) and kind != "List" and "kind" not in item:
            item = {"apiVersion": document.get("apiVersion", "v1"), "kind": kind.removesuffix("List"), **item}
        yield from _expand(item, file, number)


def _object(data: Any, type_: type[T] | None, file: str, number: int, strict: bool, mend: bool = False) -> Any:
    def wrong(problem: str, field: str = "") -> ManifestError:
        return ManifestError(problem, file=file, document=number, field=field)

    if not isinstance(data, dict):
        raise wrong(f"not a Kubernetes object: a mapping is expected, found {type(data).__name__}")
    if type_ is None:
        for key in ("apiVersion", "kind"):
            if not isinstance(data.get(key), str) or not data[key]:
                raise wrong(f"not a Kubernetes object: {key} is missing", key)
        wanted: type[KubeObject] = type_of(data["apiVersion"], data["kind"])
    else:
        wanted = type_

    def refused(problem: decoding.Problem) -> ManifestError:
        version, kind = data.get("apiVersion", wanted().api_version), data.get("kind", wanted().kind)
        text = decoding.cannot_be_handled(str(version), str(kind), problem.text)
        error = wrong(text, decoding.field_path(problem.path))
        error.cause = problem.text
        return error

    unknown: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    plan = _plan(wanted)
    cleaned = data if _is_as_declared(data, plan, mend) else _without_nulls(data, plan, (), unknown)
    try:
        made = convert(cleaned, wanted, _decode)
    except msgspec.ValidationError as error:
        problem = decoding.type_problem(data, wanted)
        if problem is None:  # Go's decoder and msgspec differ on this text
            text, _, where = str(error).partition(" - at `$")
            problem = decoding.Problem(text, tuple(where.removesuffix("`").removeprefix(".").split(".")))
        raise refused(problem) from error
    if strict and unknown:
        strange = decoding.strict_problem(data, wanted) if wanted is not KubeObject else None
        if strange is not None:
            raise refused(strange)
    for path, fields in unknown:
        _at(made, path).__dict__["unknown_fields_"] = fields
    stored = stored_as(wanted, data)
    return made if stored is None else _object(stored, None, file, number, strict=False)


Plan = Any  # None = a leaf; dict = a struct's fields; ("list" or "dict", plan of the items, zero value)
_ZEROS = {str: "", int: 0, bool: False, float: 0.0, Quantity: "0", bytes: ""}
"""The zero values to which Go's decoder converts null in a list or a map, by type."""


@cache
def _plan(type_: type[KubeStruct]) -> dict[str, tuple[str, Plan]]:
    """Return the attribute and the plan of each field's value, by wire name."""
    hints = typing.get_type_hints(type_)
    return {f.encode_name: (f.name, _shape(hints[f.name])) for f in msgspec.structs.fields(type_)}


def _shape(hint: Any) -> Plan:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        shapes = [_shape(a) for a in arguments if a is not type(None)]
        return next((s for s in shapes if s is not None), None)
    if origin is list:
        return ("list", _shape(arguments[0]), _zero(arguments[0]))
    if origin is dict:
        inner, zero = _shape(arguments[1]), _zero(arguments[1])
        return ("dict", inner, zero) if inner is not None or zero is not None else None
    return _plan(hint) if isinstance(hint, type) and issubclass(hint, KubeStruct) else None


def _zero(hint: Any) -> Any:
    """Return the zero value of an item's type; None where the item may be null."""
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if isinstance(hint, type) and issubclass(hint, KubeStruct):
        return {}
    return _ZEROS.get(hint)


def _is_as_declared(data: Any, plan: Plan, mend: bool = False) -> bool:
    """Return whether data has neither nulls nor unknown fields, so that it needs no copy; true for most objects.

    Args:
        data: the plain data of a value.
        plan: the plan of the value's type.
        mend: whether to remove nulls from the data in place instead of failing; kubectl prints nulls in every pod.
    """
    if isinstance(plan, tuple):
        kind, inner, zero = plan
        if kind == "list" and isinstance(data, list):
            items: Any = data
        elif kind == "dict" and isinstance(data, dict):
            items = data.values()
        else:
            return True
        if None in items:
            if not mend:
                return False
            for key, item in list(enumerate(data) if kind == "list" else data.items()):
                data[key] = zero if item is None else item
        if inner is not None:  # a loop, not all(): this runs for every part of every object
            for item in items:
                if not _is_as_declared(item, inner, mend):
                    return False
        return True
    if not isinstance(data, dict):
        return True
    nulls = []
    for key, item in data.items():
        known = plan.get(key)
        if known is None:
            return False
        if item is None:
            if not mend:
                return False
            nulls.append(key)
            continue
        below = known[1]
        if below is not None and item and not _is_as_declared(item, below, mend):
            return False
    for key in nulls:
        del data[key]
    return True


def _without_nulls(data: Any, plan: Plan, path: tuple[Any, ...], unknown: list[Any]) -> Any:
    if plan is None:
        return data
    if isinstance(plan, tuple):
        kind, inner, zero = plan
        if kind == "list" and isinstance(data, list):
            if None in data:
                data = [zero if item is None else item for item in data]
            if inner is None:
                return data
            return [_without_nulls(item, inner, (*path, i), unknown) for i, item in enumerate(data)]
        if kind == "dict" and isinstance(data, dict):
            if None in data.values():
                data = {key: zero if item is None else item for key, item in data.items()}
            if inner is None:
                return data
            return {key: _without_nulls(item, inner, (*path, key), unknown) for key, item in data.items()}
        return data
    if not isinstance(data, dict):
        return data
    cleaned: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, item in data.items():
        known = plan.get(key)
        if known is None:
            extra[key] = item
        elif item is not None:
            attribute, below = known
            cleaned[key] = item if below is None else _without_nulls(item, below, (*path, attribute), unknown)
    if extra:
        unknown.append((path, extra))
    return cleaned


def _at(made: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        made = getattr(made, step) if isinstance(made, KubeStruct) else made[step]
    return made


def _decode(type_: type, value: Any) -> Any:
    if type_ is Quantity:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return Quantity(value)
        raise QuantityError(FORMAT_WRONG)
    raise TypeError(f"no way to read a {type_.__name__}")


def to_dict(obj: KubeStruct) -> dict[str, Any]:
    """Return plain data with the manifest's names, without unset fields and with unknown fields in their place."""
    made: dict[str, Any] = {}
    for name, attribute, default, is_struct in _fields(type(obj)):
        value = getattr(obj, attribute)
        # Most fields are unset, so the cheapest test comes first.
        if value is None or value is default or (default is not None and value == default):
            continue
        kind = type(value)
        plain = value if kind in _LEAVES else _plain(value)
        if is_struct and plain == {}:
            continue
        made[name] = plain
    unknown = obj.unknown_fields_
    return {**made, **unknown} if unknown else made


_LEAVES = frozenset({str, int, bool, float})


@cache
def _fields(type_: type[KubeStruct]) -> list[tuple[str, str, Any, bool]]:
    """Return each field's wire name, attribute, value to omit (None = none), and whether it is a mandatory struct."""
    found = []
    for f in msgspec.structs.fields(type_):
        made = f.default_factory() if f.default_factory is not msgspec.NODEFAULT else f.default
        is_struct = isinstance(made, KubeStruct)
        always = is_struct or (made and f.encode_name in ("apiVersion", "kind"))
        found.append((f.encode_name, f.name, None if always else made, is_struct))
    return found


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is list:
        return [item if type(item) in _LEAVES else _plain(item) for item in value]
    if kind is dict:
        return {key: item if type(item) in _LEAVES else _plain(item) for key, item in value.items()}
    if kind is Quantity:
        return str(value)
    if isinstance(value, KubeStruct):
        return to_dict(value)
    if kind is datetime.datetime:
        return _time(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


@lru_cache(maxsize=4096)
def _time(value: datetime.datetime) -> str:
    """Format a time; cached, because many objects are created in the same second."""
    utc = value.astimezone(datetime.UTC) if value.tzinfo else value
    # isoformat, since strftime writes the year 1 without its zeros
    return utc.isoformat(timespec="microseconds" if utc.microsecond else "seconds").removesuffix("+00:00") + "Z"


def to_json(obj: KubeStruct | Iterable[KubeStruct], *, indent: int | None = None) -> str:
    """Return the JSON of one object, or of several as a `v1 List`."""
    return json.dumps(_one_or_list(obj), indent=indent, ensure_ascii=False)


def to_yaml(obj: KubeStruct | Iterable[KubeStruct]) -> str:
    """Return the YAML of one object, or of several as documents."""
    import yaml

    documents = [to_dict(d) for d in ([obj] if isinstance(obj, KubeStruct) else obj)]
    text = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True)
    # With allow_unicode PyYAML writes these line breaks of YAML unescaped, and the text would not be read back equal.
    if any(mark in text for mark in "\x85\u2028\u2029"):
        text = yaml.safe_dump_all(documents, sort_keys=False)
    return str(text)


def _one_or_list(obj: KubeStruct | Iterable[KubeStruct]) -> dict[str, Any]:
    if isinstance(obj, KubeStruct):
        return to_dict(obj)
    return {"apiVersion": "v1", "kind": "List", "items": [to_dict(o) for o in obj]}
