"""Quick reading of large JSON lists, as kubectl prints them for a cluster.

The list is split into the texts of its items, and each text becomes a typed object in one step, without plain data in
between. This works for items without unknown fields and without nulls in lists, maps and mandatory fields, which are
nearly all. The decoder rejects the others (`forbid_unknown_fields`), and `serialize` reads them from their plain data.

An optional field that is null gets None. That equals an absent field, because None is the default of every field that
may be None (tests/api/test_serialize_lists.py checks the types).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kitlib.api import boundary
from kitlib.api.api_groups import STORED_AS, type_of
from kitlib.api.collector import collector_paused
from kitlib.api.convert import Hook, decoder
from kitlib.api.errors import ManifestError
from kitlib.api.meta import KubeObject

LARGE = boundary.LARGE
"""Length in bytes of the texts above which the objects are read this way; see `boundary.json_document`."""


class _List(msgspec.Struct, rename="camel"):
    kind: str
    items: list[msgspec.Raw]
    api_version: str = "v1"


class _Head(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""


_lists, _heads = decoder(_List), decoder(_Head)


def read(text: str | bytes, file: str, hook: Hook) -> list[KubeObject | dict[str, Any]] | None:
    """Return the objects of a large JSON list in order, with the plain data of a list for those not read here.

    Args:
        text: the text.
        file: the file's name, for messages.
        hook: converts values of types that msgspec does not know.

    Returns:
        None if the text is not a large JSON list.

    Raises:
        ManifestError: the text is too long, or the nesting too deep.
    """
    boundary.check_size(text, file)
    text = text.lstrip()
    if len(text) <= LARGE or text[:1] not in ("{", b"{"):
        return None
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if boundary.bracket_depth(raw) > boundary.MAX_DEPTH:
        raise ManifestError(f"more than {boundary.MAX_DEPTH} levels", file=file, document=1)
    with collector_paused():
        try:
            found = _lists.decode(raw)
        except msgspec.MsgspecError:  # the general reader finds what it is, and reports errors
            return None
        return list(_objects(found, hook)) if found.kind.endswith("List") else None


def _objects(found: _List, hook: Hook) -> Iterator[KubeObject | dict[str, Any]]:
    decoders: dict[tuple[str, str], msgspec.json.Decoder[Any] | None] = {}
    for item in found.items:
        made = None
        try:
            head = _heads.decode(item)
            key = (head.api_version, head.kind)
            if key not in decoders:
                decoders[key] = _decoder(*key, hook)
            known = decoders[key]
            made = known.decode(item) if known is not None else None
        except msgspec.MsgspecError:
            pass
        if made is None:
            yield {"apiVersion": found.api_version, "kind": found.kind, "items": [msgspec.json.decode(item)]}
        else:
            yield made


def _decoder(version: str, kind: str, hook: Hook) -> msgspec.json.Decoder[Any] | None:
    """Return the decoder of a kind; None for a custom kind, a list, and a version that is stored as another one."""
    wanted = type_of(version, kind) if version and kind else KubeObject
    if wanted is KubeObject or kind.endswith("List") or wanted.__name__ in STORED_AS:
        return None
    return decoder(wanted, hook)
