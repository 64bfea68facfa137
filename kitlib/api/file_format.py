"""Formats of files that users keep: each file has the number of its own, and an older kit refuses a newer one by it."""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.errors import KitError

_FORMAT = msgspec.json.Decoder(dict[str, Any])


def check_format(data: Any, newest: int, place: str = "", field: str = "format") -> None:
    """Refuse a document of a format newer than this kit reads, before a schema calls it damaged.

    Args:
        data: plain data, or the JSON text of it; 0.1 wrote no format, which is read as 0.
        newest: the format that this kit writes.
        place: of the file or line, for the message.
        field: the name of the format's field.

    Raises:
        KitError: it is newer.
    """
    if isinstance(data, bytes):
        try:
            data = _FORMAT.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return  # no document of any format: its own schema says so
    found = data.get(field, 0) if isinstance(data, dict) else 0
    if isinstance(found, int) and found > newest:
        told = f"format {found} is newer than {newest}, the newest that this kitlib reads: update kitlib"
        raise KitError(f"{place}: {told}" if place else told)
