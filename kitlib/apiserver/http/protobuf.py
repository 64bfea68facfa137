"""Protobuf encoding and decoding of objects: the requests and responses of client-go for built-in kinds.

The envelope is four magic bytes and a `runtime.Unknown`; the messages are those of `protobuf_schema`. Numbers are
varints, everything else is preceded by its length. A field that is not in the table is skipped, as by Go's decoder.

Source: apimachinery pkg/runtime/serializer/protobuf (Encode, Decode, LengthDelimitedFramer); protobuf.dev encoding.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial
from typing import Any

from kitlib.api.go_durations import NANOSECONDS, go_string, nanoseconds
from kitlib.apiserver.http.protobuf_schema import FieldDescriptor, fields_of, message_of
from kitlib.apiserver.http.status import StatusError

PROTOBUF = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
MAX_DEPTH = 200
"""The maximum nesting depth of a decoded message. Schemas in CustomResourceDefinitions are the deepest ones."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_PROPS = "apiextensions.v1.JSONSchemaProps"
_BYTES = tuple(bytes([n]) for n in range(0x80))
Object = dict[str, Any]


class SharedObject(Object):
    """The wire form of a stored object, which responses, lists and watches share and do not change.

    Attributes:
        encoded: its protobuf message, encoded when a client first asks for it; b"" before.

    Source: apiserver cacher cachingObject.
    """

    __slots__ = ("encoded",)
    encoded: bytes

    @classmethod
    def of(cls, obj: Object) -> SharedObject:
        made = cls(obj)
        made.encoded = b""
        return made


def is_known(api_version: str, kind: str) -> bool:
    """Return whether a kind has a protobuf message; only built-in kinds have one."""
    return bool(message_of(api_version, kind))


def decode_object(body: bytes) -> Object:
    """Decode an object to its JSON form.

    Raises:
        StatusError: 400 for a body that cannot be decoded, 415 for a kind that has no message.
    """
    if not body.startswith(MAGIC):
        raise StatusError(400, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    envelope = dict(_scan(body[len(MAGIC) :]))
    head = dict(_scan(_bytes(envelope.get(1, b""))))
    version, kind = _text(head.get(1, b"")), _text(head.get(2, b""))
    message = message_of(version, kind)
    if not message:
        why = f"{kind[:80]} in protobuf is not known to the kit's API; send it as JSON"
        raise StatusError(415, why, "UnsupportedMediaType")
    return {"apiVersion": version, "kind": kind, **_decode(message, _bytes(envelope.get(2, b"")), 0)}


def encode_object(obj: Mapping[str, Any]) -> bytes:
    """Encode an object or a list of a built-in kind with its envelope."""
    version, kind = str(obj["apiVersion"]), str(obj["kind"])
    head = _chunk(1, version.encode()) + _chunk(2, kind.encode())
    # The last four bytes are the empty contentEncoding and contentType, which Go writes too. Source: runtime
    # generated.pb.go.
    return MAGIC + _chunk(1, head) + _chunk(2, _message(message_of(version, kind), obj)) + b"\x1a\x00\x22\x00"


def encode_event(change: str, obj: Mapping[str, Any]) -> bytes:
    """Encode one frame of a watch: its length in four bytes, then a WatchEvent without an envelope."""
    event = _chunk(1, change.encode()) + _chunk(2, _chunk(1, encode_object(obj)))
    return struct.pack(">I", len(event)) + event


# Reading.


def _scan(data: bytes) -> list[tuple[int, int | bytes]]:
    """Return field numbers and values of a message: numbers as integers, everything else as bytes."""
    found: list[tuple[int, int | bytes]] = []
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _read_varint(data, at)
            found.append((number, value))
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire, -1)
        if wire == _LENGTH:
            length, at = _read_varint(data, at)
        if length < 0 or not number:
            raise _unreadable(f"illegal tag {number} (wire type {wire})")
        if at + length > end:
            raise _unreadable("unexpected EOF")
        found.append((number, data[at : at + length]))
        at += length
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise _unreadable("unexpected EOF")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift > 63:
            raise _unreadable("proto: integer overflow")


def _unreadable(why: str) -> StatusError:
    return StatusError(400, f"the body cannot be decoded as protobuf: {why}")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _unreadable("wrong wireType = 0")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        raise _unreadable("string field contains invalid UTF-8") from None


@cache
def _by_number(message: str) -> dict[int, FieldDescriptor]:
    return {one.number: one for one in fields_of(message)}


def _decode(message: str, data: bytes, depth: int) -> Object:
    if depth > MAX_DEPTH:
        raise _unreadable(f"more than {MAX_DEPTH} levels")
    made: Object = {}
    known = _by_number(message)
    for number, value in _scan(data):
        field = known.get(number)
        if field is None:
            continue
        name, kind = field.name, field.kind
        if field.shape == "^":
            made |= _decode(kind, _bytes(value), depth + 1)
        elif field.shape == "*":
            made.setdefault(name, []).append(_value(kind, value, depth))
        elif field.shape == "{}":
            entry = dict(_scan(_bytes(value)))
            # An entry without a value has the zero value of its type.
            zero: int | bytes = 0 if kind in ("i", "t") else b""
            made.setdefault(name, {})[_text(entry.get(1, b""))] = _value(kind, entry.get(2, zero), depth)
        else:
            plain = _value(kind, value, depth)
            # Go encodes the zero value of every field that is not a pointer; JSON omits such a field.
            if plain is not None and (field.pointer or plain not in ("", 0, False, [])):
                made[name] = plain
    return made


def _value(kind: str, value: int | bytes, depth: int) -> Any:
    if kind == "s":
        return _text(value)
    if kind in ("i", "t"):
        if not isinstance(value, int):
            raise _unreadable("wrong wireType = 2")
        # Negative integers are varints of 64 bits in two's complement.
        return bool(value) if kind == "t" else value - (1 << 64) if value >> 63 else value
    raw = _bytes(value)
    if kind == "b":
        return base64.b64encode(raw).decode()
    if kind == "d":
        return _number(struct.unpack("<d", raw)[0]) if len(raw) == 8 else None
    special = _READERS.get(kind)
    return _decode(kind, raw, depth + 1) if special is None else special(raw, depth + 1)


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _read_time(raw: bytes, depth: int, *, micro: bool = False) -> str | None:
    """Decode a time; metav1.Time drops the fraction of a second, MicroTime keeps microseconds.

    Source: metav1.Time.Unmarshal, MicroTime.Unmarshal.
    """
    if not raw:
        return None
    parts = dict(_scan(raw))
    seconds = _value("i", parts.get(1, 0), depth)
    nanos = _value("i", parts.get(2, 0), depth) if micro else 0
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise StatusError(400, f"a time of {seconds} s since 1970 is in no year from 1 to 9999") from None
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return f"{text}.{moment.microsecond:06d}Z" if micro else f"{text}Z"


def _read_int_or_string(raw: bytes, depth: int) -> int | str:
    parts = dict(_scan(raw))
    return _text(parts.get(3, b"")) if parts.get(1) == 1 else int(_value("i", parts.get(2, 0), depth))


def _read_json(raw: bytes, depth: int) -> Any:
    """Decode embedded JSON; an embedded object may be protobuf itself. Source: runtime.RawExtension."""
    text = _bytes(dict(_scan(raw)).get(1, b""))
    if text.startswith(MAGIC):
        return decode_object(text)
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable("embedded JSON cannot be read") from None


def _read_or(raw: bytes, depth: int) -> Any:
    """Decode JSONSchemaPropsOrArray and its relatives: a schema or a list of schemas."""
    parts = _scan(raw)
    listed = [_decode(_PROPS, _bytes(value), depth) for number, value in parts if number == 2]
    single = [value for number, value in parts if number == 1]
    return listed or (_decode(_PROPS, _bytes(single[-1]), depth) if single else [])


def _read_or_strings(raw: bytes, depth: int) -> Any:
    parts = _scan(raw)
    single = [value for number, value in parts if number == 1]
    return _decode(_PROPS, _bytes(single[-1]), depth) if single else [_text(v) for n, v in parts if n == 2]


def _read_or_bool(raw: bytes, depth: int) -> Any:
    parts = dict(_scan(raw))
    return _decode(_PROPS, _bytes(parts[2]), depth) if 2 in parts else bool(parts.get(1))


_READERS: dict[str, Callable[[bytes, int], Any]] = {
    "Duration": lambda raw, depth: go_string(_value("i", dict(_scan(raw)).get(1, 0), depth) / NANOSECONDS["s"]),
    "FieldsV1": _read_json,
    "IntOrString": _read_int_or_string,
    "JSON": _read_json,
    "MicroTime": lambda raw, depth: _read_time(raw, depth, micro=True),
    "OrArray": _read_or,
    "OrBool": _read_or_bool,
    "OrStringArray": _read_or_strings,
    "Quantity": lambda raw, depth: _text(dict(_scan(raw)).get(1, b"")),
    "RawExtension": _read_json,
    "Strings": lambda raw, depth: [_text(value) for number, value in _scan(raw) if number == 1],
    "Time": _read_time,
}


# Writing.

_Writable = tuple[str, int, Callable[[Any], bytes], Callable[[Any], bytes]]
"""The shape and the number of a field, the function that writes a value of it, and the one for a value of a map."""


def _varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return _BYTES[value]
    value &= 0xFFFFFFFFFFFFFFFF
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


@cache
def _tag(number: int, wire: int = _LENGTH) -> bytes:
    return _varint(number << 3 | wire)


def _chunk(number: int, data: bytes) -> bytes:
    return _tag(number) + _varint(len(data)) + data


@cache
def _by_name(message: str) -> tuple[dict[str, _Writable], tuple[tuple[FieldDescriptor, frozenset[str]], ...]]:
    """Return the fields by JSON name, and the inlined messages with the names of their fields."""
    plain = {
        one.name: (one.shape, one.number, _writer(one.kind, one.number), _writer(one.kind, 2))
        for one in fields_of(message)
        if one.shape != "^"
    }
    inlined = tuple((one, _names(one.kind)) for one in fields_of(message) if one.shape == "^")
    return plain, inlined


def _names(message: str) -> frozenset[str]:
    plain, inlined = _by_name(message)
    return frozenset(plain).union(*(names for _, names in inlined))


def _message(message: str, obj: Mapping[str, Any]) -> bytes:
    """Encode a message, once if the object is shared."""
    if not isinstance(obj, SharedObject):
        return _encode(message, obj)
    obj.encoded = obj.encoded or _encode(message, obj)
    return obj.encoded


def _encode(message: str, obj: Mapping[str, Any]) -> bytes:
    plain, inlined = _by_name(message)
    made = []
    for name, value in obj.items():
        field = plain.get(name)
        if field is None or value is None:
            continue
        shape, number, write, write_value = field
        if not shape:
            made.append(write(value))
        elif shape == "*":
            made += map(write, value)
        else:
            for key, one in value.items():
                made.append(_chunk(number, _chunk(1, key.encode()) + (b"" if one is None else write_value(one))))
    for one, names in inlined:
        inner = {name: obj[name] for name in names if name in obj}
        if inner:
            made.append(_chunk(one.number, _encode(one.kind, inner)))
    return b"".join(made)


@cache
def _writer(kind: str, number: int) -> Callable[[Any], bytes]:
    """Return the function that encodes a value of a type as a field with this number."""
    tag = _tag(number)
    if kind in ("i", "t"):
        tag = _tag(number, _VARINT)
        return lambda value: tag + _varint(int(value))
    if kind == "d":
        tag = _tag(number, _FIXED64)
        return lambda value: tag + struct.pack("<d", float(value))
    content: Callable[[Any], bytes] = _WRITERS.get(kind) or partial(_message, kind)

    def write(value: Any) -> bytes:
        data = content(value)
        return tag + _varint(len(data)) + data

    return write


@lru_cache(maxsize=4096)
def _time(text: str, *, micro: bool = False) -> bytes:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00")) - _EPOCH
    seconds = moment.days * 86400 + moment.seconds
    nanos = moment.microseconds * 1000 if micro else 0
    return b"\x08" + _varint(seconds) + b"\x10" + _varint(nanos)


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + _chunk(3, value.encode())
    # Go writes all three fields, the unused one as its zero value. Source: intstr generated.pb.go.
    return b"\x08\x00\x10" + _varint(value) + b"\x1a\x00"


def _json(value: Any) -> bytes:
    """Encode embedded JSON with the escapes of Go's encoder, since clients compare the bytes. Source: json.Marshal."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return _chunk(1, text.translate(_ESCAPED).encode())


_ESCAPED = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}


def _or(value: Any) -> bytes:
    """Encode a schema, a list of schemas, a list of names, or a bool."""
    if isinstance(value, bool):
        return b"\x08" + _varint(value)
    if isinstance(value, Mapping):
        return _chunk(1, _encode(_PROPS, value))
    return b"".join(_chunk(2, one.encode() if isinstance(one, str) else _encode(_PROPS, one)) for one in value)


def _or_bool(value: Any) -> bytes:
    return b"\x08\x01" + _chunk(2, _encode(_PROPS, value)) if isinstance(value, Mapping) else _or(value)


_WRITERS: dict[str, Callable[[Any], bytes]] = {
    "b": base64.b64decode,
    "s": lambda value: str(value).encode(),
    "Duration": lambda value: b"\x08" + _varint(nanoseconds(value)),
    "FieldsV1": _json,
    "IntOrString": _int_or_string,
    "JSON": _json,
    "MicroTime": lambda value: _time(value, micro=True),
    "OrArray": _or,
    "OrBool": _or_bool,
    "OrStringArray": _or,
    "Quantity": lambda value: _chunk(1, str(value).encode()),
    "RawExtension": _json,
    "Strings": lambda value: b"".join(_chunk(1, one.encode()) for one in value),
    "Time": _time,
}
