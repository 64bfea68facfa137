"""Invalid base64 in Secrets and other fields of bytes, found at the offset that Go reports.

Source: Go encoding/base64 StdEncoding, CorruptInputError.
"""

from __future__ import annotations

import string

_BASE64 = frozenset(f"{string.ascii_letters}{string.digits}+/".encode())


def corrupt_at(text: bytes) -> int | None:
    """Return the offset that Go reports for invalid base64; None for valid text. Source: base64 decodeQuantum."""
    digits = 0

    def after(i: int) -> int:
        """Return the next offset that is not a line break."""
        while text[i : i + 1] in (b"\n", b"\r"):
            i += 1
        return i

    i = after(0)
    while i < len(text):
        if text[i] in _BASE64:
            digits += 1
        elif text[i : i + 1] != b"=" or digits % 4 < 2:
            return i
        else:
            if digits % 4 == 2:
                second = after(i + 1)
                if text[second : second + 1] != b"=":
                    return second if second == len(text) else second - 1
                i = second
            end = after(i + 1)
            return None if end == len(text) else end
        i = after(i + 1)
    return len(text) - digits % 4 if digits % 4 else None
