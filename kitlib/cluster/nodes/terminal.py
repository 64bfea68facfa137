"""The line discipline of a terminal: echo, line editing, Ctrl-C, Ctrl-D.

A shell without its own line editor reads whole lines. Source: Linux drivers/tty/n_tty.c with the default settings of a
terminal (ICANON, ECHO, ECHOE, ECHOK, ECHOCTL, IEXTEN, ICRNL, IUTF8, ISIG, ONLCR).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

LONGEST = 4095
"""The maximum length of a line in bytes; more are dropped. Source: N_TTY_BUF_SIZE."""
_INTERRUPT, _END, _KILL_LINE, _ERASE_WORD, _QUIT = 0x03, 0x04, 0x15, 0x17, 0x1C
_ERASE = (0x7F, 0x08)
_RUB = b"\b \b"


class Typed(NamedTuple):
    """An effect of typed keys.

    Attributes:
        kind: "echo" (shown to the user), "line" (read by the program, without its line break), "interrupt" (Ctrl-C,
            Ctrl-\\) or "end" (Ctrl-D on an empty line).
        data: the bytes of the echo or the line.
    """

    kind: Literal["echo", "line", "interrupt", "end"]
    data: bytes = b""


class LineDiscipline:
    """The current line of one terminal; keys may arrive in pieces of any size."""

    def __init__(self) -> None:
        self._line = bytearray()

    def feed(self, data: bytes) -> Iterator[Typed]:
        """Yield the effects of keys in order; keys take effect only as the iterator is consumed."""
        shown = bytearray()
        for key in data:
            if key in (0x0D, 0x0A):
                # The echo comes before the line is run, so that the output follows the typed command.
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
        """Remove the last character; return the bytes that erase it on the screen."""
        if not self._line:
            return b""
        while len(self._line) > 1 and self._line[-1] & 0xC0 == 0x80:  # continuation bytes of a UTF-8 character
            self._line.pop()
        return _RUB * len(_shown(self._line.pop()))


def _shown(key: int) -> bytes:
    """Return the echo of a key: control characters except the tab as `^X`."""
    return b"^" + bytes([key ^ 0x40]) if (key < 0x20 and key != 0x09) else bytes([key])
