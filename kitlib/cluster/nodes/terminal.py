"""What a terminal does with keys before a program reads them: echo, line editing, Ctrl-C, Ctrl-D.

A shell without an editor of its own reads whole lines. Source: Linux drivers/tty/n_tty.c with the settings that a new
terminal has (ICANON, ECHO, ECHOE, ECHOK, ECHOCTL, IEXTEN, ICRNL, IUTF8, ISIG, ONLCR).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

LONGEST = 4095
"""Bytes of a line that are kept; more are dropped. Source: N_TTY_BUF_SIZE."""
_INTERRUPT, _END, _KILL_LINE, _ERASE_WORD, _QUIT = 0x03, 0x04, 0x15, 0x17, 0x1C
_ERASE = (0x7F, 0x08)
_RUB = b"\b \b"


class Typed(NamedTuple):
    """What comes of keys.

    Attributes:
        kind: "echo" (shown to the user), "line" (read by the program, without its end), "interrupt" (Ctrl-C, Ctrl-\\)
            or "end" (Ctrl-D where nothing stands on the line).
        data: of the echo or the line.
    """

    kind: Literal["echo", "line", "interrupt", "end"]
    data: bytes = b""


class LineDiscipline:
    """One terminal's line; keys may come in any pieces."""

    def __init__(self) -> None:
        self._line = bytearray()

    def feed(self, data: bytes) -> Iterator[Typed]:
        """What these keys lead to, in order; what is not asked for has not happened."""
        shown = bytearray()
        for key in data:
            if key in (0x0D, 0x0A):
                yield Typed("echo", bytes(shown) + b"\r\n")
                yield Typed("line", bytes(self._line))
                shown.clear()
                self._line.clear()
            elif key in (_INTERRUPT, _QUIT):
                yield Typed("echo", bytes(shown) + _shown(key) + b"\r\n")
                yield Typed("interrupt")
                shown.clear()
                self._line.clear()
            elif key == _END:
                if not self._line:
                    yield Typed("echo", bytes(shown))
                    yield Typed("end")
                    shown.clear()
            elif key in _ERASE:
                shown += self._erase()
            elif key == _ERASE_WORD:
                while self._line.endswith(b" "):
                    shown += self._erase()
                while self._line and not self._line.endswith(b" "):
                    shown += self._erase()
            elif key == _KILL_LINE:
                while self._line:
                    shown += self._erase()
            elif len(self._line) < LONGEST:
                self._line.append(key)
                shown += _shown(key)
        if shown:
            yield Typed("echo", bytes(shown))

    def _erase(self) -> bytes:
        """Take the last character away; what rubs it out on the screen."""
        if not self._line:
            return b""
        while len(self._line) > 1 and self._line[-1] & 0xC0 == 0x80:  # the rest of a character of several bytes
            self._line.pop()
        return _RUB * len(_shown(self._line.pop()))


def _shown(key: int) -> bytes:
    """How a key is echoed: control characters as `^X`, but the tabulator."""
    return b"^" + bytes([key ^ 0x40]) if (key < 0x20 and key != 0x09) else bytes([key])
