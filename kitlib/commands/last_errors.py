"""The last internal errors of commands, kept in the user's state folder for `kitlib doctor --report`.

The traceback and the command's name are kept, without the arguments, which may hold private values.
Source: XDG Base Directory Specification, XDG_STATE_HOME.
"""

from __future__ import annotations

import os
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

KEPT = 3
MAX_TEXT = 6000
"""Maximum number of characters of an entry; of a longer traceback the end is kept."""
_MARK = "\n=== "


def place() -> Path | None:
    """Return the path of the file; None for a user without a home."""
    with suppress(RuntimeError):
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kitlib" / "errors.log"
    return None


def keep(error: BaseException, command: str) -> None:
    """Add an error to the file, and drop all but the last ones; errors in writing the file are ignored."""
    file = place()
    if file is None:
        return
    text = "".join(traceback.format_exception(error))[-MAX_TEXT:]
    entry = f"{datetime.now(UTC):%Y-%m-%d %H:%M} kitlib {command}\n{text.rstrip()}\n"
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = "".join(f"{_MARK}{one}" for one in [*kept(), entry][-KEPT:])
        file.write_text(whole, encoding="utf-8", errors="replace")


def kept() -> list[str]:
    """Return the entries, oldest first."""
    file = place()
    try:
        text = file.read_text(encoding="utf-8", errors="replace") if file is not None else ""
    except OSError:
        return []
    return [part for part in text.split(_MARK) if part.strip()]
