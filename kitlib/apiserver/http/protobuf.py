"""Bodies in protobuf: kubectl's generators, `kubectl auth can-i` and helm's release Secrets send them.

The envelope is four magic bytes and a `runtime.Unknown`; the messages are those of `protobuf_schema`, given to the
protobuf library as descriptors.

Source: apimachinery pkg/runtime/serializer/protobuf.
"""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from kitlib.apiserver.http.protobuf_schema import MESSAGES, REGROUPED
from kitlib.apiserver.http.status import StatusError

MAGIC = b"k8s\x00"
_ENVELOPE = {
    "Unknown": "typeMeta=1 TypeMeta; raw=2 b; contentEncoding=3 s; contentType=4 s",
    "TypeMeta": "apiVersion=1 s; kind=2 s",
}
_FIELD = re.compile(r"(\w+)=(\d+) (\{?)(\w+)\}?([*^-]?)$")


def decode_object(body: bytes) -> dict[str, Any]:
    """An object in the form that JSON has.

    Raises:
        StatusError: 400 for a body that cannot be read, 415 for a kind whose message is not known here.
    """
    if not body.startswith(MAGIC):
        raise StatusError(400, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    envelope = _parse("Unknown", body[len(MAGIC) :])
    head = _plain("Unknown", envelope)
    meta = head.get("typeMeta") or {}
    version, kind = meta.get("apiVersion", ""), meta.get("kind", "")
    name = f"{kind}_events" if (version, kind) in REGROUPED else kind
    if kind not in MESSAGES:
        message = f"{kind[:80]} in protobuf is not known to the kit's API; send it as JSON"
        raise StatusError(415, message, "UnsupportedMediaType")
    made = _plain(name, _parse(name, envelope.raw))
    return {"apiVersion": version, "kind": kind, **made}


def _parse(name: str, data: bytes) -> Any:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped,unused-ignore]

    made = _classes()[name]()
    try:
        made.ParseFromString(data)
    except DecodeError as error:
        raise StatusError(400, f"the body cannot be decoded as protobuf: {error}") from None
    return made


def _schema() -> dict[str, str]:
    regrouped = {f"{kind}_events": fields for (_, kind), fields in REGROUPED.items()}
    return {**MESSAGES, **regrouped, **_ENVELOPE}


@lru_cache(maxsize=1)
def _fields() -> dict[str, dict[str, tuple[int, bool, str, str]]]:
    """Message -> field -> (number, whether it is a map, type, mark)."""
    found: dict[str, dict[str, tuple[int, bool, str, str]]] = {}
    for message, text in _schema().items():
        found[message] = {}
        for part in text.split("; "):
            match = _FIELD.match(part.strip())
            assert match is not None, part
            name, number, brace, kind, mark = match.groups()
            found[message][name] = int(number), bool(brace), kind, mark
    return found


@lru_cache(maxsize=1)
def _classes() -> dict[str, Any]:
    """A class of the protobuf library for each message."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="kitlib.proto", package="kitlib", syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    plain = {"s": kinds.TYPE_STRING, "b": kinds.TYPE_BYTES, "i": kinds.TYPE_INT64, "t": kinds.TYPE_BOOL}

    def typed(field: Any, kind: str) -> None:
        if kind in plain:
            field.type = plain[kind]
        else:
            field.type, field.type_name = kinds.TYPE_MESSAGE, f".kitlib.{kind}"

    for message, fields in _fields().items():
        made = file.message_type.add(name=message)
        for name, (number, is_map, kind, mark) in fields.items():
            field = made.field.add(name=name, number=number)
            field.label = kinds.LABEL_REPEATED if is_map or mark == "*" else kinds.LABEL_OPTIONAL
            if not is_map:
                typed(field, kind)
                continue
            entry = made.nested_type.add(name=f"{name[0].upper()}{name[1:]}Entry")
            entry.options.map_entry = True
            typed(entry.field.add(name="key", number=1, label=kinds.LABEL_OPTIONAL), "s")
            typed(entry.field.add(name="value", number=2, label=kinds.LABEL_OPTIONAL), kind)
            field.type, field.type_name = kinds.TYPE_MESSAGE, f".kitlib.{message}.{entry.name}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"kitlib.{name}")) for name in _fields()}


def _plain(name: str, message: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for descriptor, value in message.ListFields():
        _, is_map, kind, mark = _fields()[name][descriptor.name]
        if is_map:
            made[descriptor.name] = {_text(key): _value(kind, value[key]) for key in value}
        elif mark == "*":
            made[descriptor.name] = [_value(kind, one) for one in value]
        elif mark == "^":
            made |= _plain(kind, value)
        else:
            plain = _value(kind, value)
            unset = 0 if mark == "-" else None
            if plain not in ("", None, unset):  # what Go writes for an unset text, time or number
                made[descriptor.name] = plain
    return made


def _text(value: str | bytes) -> str:
    """A text; what is no UTF-8 comes from the library as bytes.

    Raises:
        StatusError: it is none.
    """
    if isinstance(value, bytes):
        raise StatusError(400, "the body cannot be decoded as protobuf: string field contains invalid UTF-8")
    return value


def _value(kind: str, value: Any) -> Any:
    if kind == "b":
        return base64.b64encode(value).decode()
    if kind == "s":
        return _text(value)
    if kind == "Quantity":
        return _text(value.string)
    if kind == "IntOrString":
        return _text(value.strVal) if value.type == 1 else value.intVal
    if kind == "Time":
        if not value.seconds and not value.nanos:
            return None
        try:
            moment = datetime.fromtimestamp(value.seconds, UTC)
        except (ValueError, OverflowError, OSError):
            raise StatusError(400, f"a time of {value.seconds} s since 1970 is in no year from 1 to 9999") from None
        fraction = f".{value.nanos % 10**9 // 1000:06d}" if value.nanos else ""
        return moment.strftime("%Y-%m-%dT%H:%M:%S") + f"{fraction}Z"
    return value if kind in ("s", "i", "t") else _plain(kind, value)
