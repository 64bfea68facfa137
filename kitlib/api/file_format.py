"""Version numbers of file formats: each file of a user has one, by which an older kit rejects files of a newer one."""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.errors import KitError

_FORMAT = msgspec.json.Decoder(dict[str, Any])


def check_format(data: Any, newest: int, place: str = "", field: str = "format") -> None:
    """Reject a document of a newer format than this kit reads, before a schema reports it as damaged.

    Args:
        data: plain data, or its JSON text; a missing format, as in files of kit 0.1, is read as 0.
        newest: the number of the format that this kit writes.
        place: the position of the file or line, for the message.
        field: the name of the format's field.

    Raises:
        KitError: the document's format is newer.
    """
    if isinstance(data, bytes):
        try:
            data = _FORMAT.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return  # not JSON: the document's own schema reports it
    found = data.get(field, 0) if isinstance(data, dict) else 0
    if isinstance(found, int) and found > newest:
        told = f"format {found} is newer than {newest}, the newest that this kitlib reads: update kitlib"
        raise KitError(f"{place}: {told}" if place else told)
