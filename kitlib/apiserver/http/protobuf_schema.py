"""The messages of the API's protobuf format: their fields with number and type.

The table is data (`protobuf_fields.txt`), the same for every kind: a section for each package, a line for each message,
and in it `name=NUMBER TYPE` for each field by its JSON name. Types are `s` string, `b` bytes, `i` integer, `d`
double, `t` bool, one of `SPECIAL`, or a message; that of another package has the package's name.
A type is followed by `*` for a list, `{}` for a map, `^` for a message that JSON inlines into its parent, and
`?` for a field that is a pointer in Go: only there zero is a value, elsewhere it means that the field is not set.

Source: field numbers and JSON names of k8s.io/api, k8s.io/apimachinery, k8s.io/apiextensions-apiserver,
k8s.io/kube-aggregator and k8s.io/metrics at 1.36 (generated.proto and the struct tags of types.go).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from kitlib.api.type_tables import read_types
from kitlib.apiserver.store.kinds import RESOURCES

SPECIAL = frozenset(
    {
        *("Duration", "FieldsV1", "IntOrString", "JSON", "MicroTime", "OrArray", "OrBool", "OrStringArray"),
        *("Quantity", "RawExtension", "Strings", "Time"),
    }
)
"""Types with a special form in JSON, and messages that wrap a list."""
_FIELD = re.compile(r"([^\s=]*)=(\d+) ([\w.]+)(\*|\{\}|\^)?(\?)?")
_META = "meta.v1"
_MORE_GROUPS = (
    *("apidiscovery.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "events.k8s.io", "meta.k8s.io"),
    "metrics.k8s.io",
)
"""Built-in groups whose kinds are not stored, or stored as those of another group."""


class FieldDescriptor(NamedTuple):
    """A field of a message.

    Attributes:
        name: the field's name in JSON; "" = its fields are inlined into the parent.
        number: the field number on the wire.
        kind: the type as described above; a message with its package.
        shape: `*` list, `{}` map, `^` inlined, "" one value.
        pointer: whether a zero is a value.
    """

    name: str
    number: int
    kind: str
    shape: str
    pointer: bool


@lru_cache(maxsize=1)
def _lines() -> dict[str, str]:
    """Return message with package -> its fields as text; read at the first request in protobuf."""
    return read_types("kitlib.apiserver.http", "protobuf_fields.txt")


@cache
def fields_of(message: str) -> tuple[FieldDescriptor, ...]:
    package = message.rpartition(".")[0]
    found = []
    for part in filter(None, _lines()[message].split("; ")):
        match = _FIELD.fullmatch(part)
        assert match is not None, part
        name, number, kind, shape, pointer = match.groups()
        plain = len(kind) == 1 or kind in SPECIAL or "." in kind
        found.append(
            FieldDescriptor(name, int(number), kind if plain else f"{package}.{kind}", shape or "", bool(pointer))
        )
    return tuple(found)


def message_of(api_version: str, kind: str) -> str:
    """Return the message of a kind; "" if the kind has none, as custom kinds.

    Options and Status belong to every group. Source: metav1.AddToGroupVersion.
    """
    group, _, version = api_version.rpartition("/")
    name = f"{_package(group)}.{version}.{kind}"
    if group in _groups() and name in _lines():
        return name
    return f"{_META}.{kind}" if f"{_META}.{kind}" in _lines() else ""


@lru_cache(maxsize=1)
def _groups() -> frozenset[str]:
    return frozenset({one.group for one in RESOURCES}.union(_MORE_GROUPS))


def _package(group: str) -> str:
    return group.split(".")[0] or "core"
