"""Prints output of a command on a terminal, pipe or file with any encoding.

Windows writes pipes and files in the regional code page (cp1252, cp437, cp932), and a POSIX locale means ASCII. Other
characters are replaced by similar plain ones, so that no error occurs in the middle of a line.
"""

from __future__ import annotations

import codecs
import sys
import unicodedata

HANDLER = "kitlib.plain"
"""Name of the error handler of these streams."""
PLAIN = {
    "−": "-",
    "–": "-",
    "—": "-",
    "×": "x",
    "·": "*",
    "•": "*",
    "…": "...",
    "→": "->",
    "←": "<-",
    "↑": "^",
    "↓": "v",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "✓": "ok",
    "✗": "x",
    "■": "#",
    "█": "#",
    "▓": "#",
    "▒": "=",
    "░": "-",
    "“": '"',
    "”": '"',
    "„": '"',
    "’": "'",
    "‘": "'",
    "µ": "u",
    "ß": "ss",
    "├": "|",
    "└": "`",
    "│": "|",
    "─": "-",
    "━": "-",
    "╸": "-",
    "╺": "-",
}
"""Characters of the kit's texts -> their replacements in ASCII."""


def replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that the encoding lacks by plain ones, and keep undecodable bytes of file names.

    Source: codecs.register_error; PEP 383 for undecodable bytes of file names.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    bad = error.object[error.start : error.end]
    if all("\udc80" <= one <= "\udcff" for one in bad):
        return bytes(ord(one) - 0xDC00 for one in bad), error.end
    return "".join(map(_plain, bad)), error.end


def _plain(character: str) -> str:
    known = PLAIN.get(character)
    if known is not None:
        return known
    without_accents = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return without_accents or "?"


def prepare() -> None:
    """Allow any encoding for this process's standard output and error."""
    codecs.register_error(HANDLER, replaced)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a notebook's stream has none, and accepts all characters
        if reconfigure is not None:
            reconfigure(errors=HANDLER)
