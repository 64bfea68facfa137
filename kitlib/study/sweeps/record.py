"""A sweep's results file: a line that says what was computed, then a line a row, so that a kill loses little.

The file is data (JSON Lines, checked against a schema). A sweep that finds its own file reads the rows that are there
and computes the others; of two rows of the same point the later one counts. Another scenario, metric or version of
kitlib is refused, and so is a second process that writes at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from kitlib.api.convert import decoder
from kitlib.api.errors import KitError, shortened
from kitlib.api.file_format import check_format
from kitlib.study.sweeps.grid import key
from kitlib.study.sweeps.row import SweepRow

FORMAT = 1
MAX_LINE = 16 << 20


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """What was computed, by what.

    Attributes:
        format: of the results file.
        kitlib: version.
        scenario: its name.
        scenario_hash: SHA-256 of its data, or of its functions' names and sources, and of the metrics'.
        metrics: columns.
        release: that decides where the grid has no `release`.
        began: time (UTC) when the sweep began first.
    """

    format: int = FORMAT
    kitlib: str
    scenario: str
    scenario_hash: str
    metrics: list[str]
    release: str
    began: str


class SweepRecord:
    """A results file that is open for writing.

    Args:
        path: made where it is missing.
        provenance: of this sweep.

    Attributes:
        rows: key of a point -> the row that the file has.
        provenance: with the time when the sweep began first.

    Raises:
        KitError: it cannot be read or written, is no results file, is another sweep's, or is in use.
    """

    def __init__(self, path: Path, provenance: Provenance) -> None:
        self.path, self.rows = path, dict[str, SweepRow]()
        try:
            self._file = path.open("ab+", buffering=0)
        except OSError as error:
            raise KitError(f"{path}: {error.strerror or error}") from None
        try:
            _lock(self._file, path)
            self.provenance = self._read(provenance)
        except BaseException:
            self._file.close()
            raise

    def append(self, rows: Iterable[SweepRow]) -> None:
        """Write rows behind the others.

        Raises:
            KitError: they cannot be written; the file is as it was before.
        """
        self._write(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))

    def close(self) -> None:
        """Others may write from now on."""
        self._file.close()

    def _read(self, provenance: Provenance) -> Provenance:
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not lines:
            if content and not msgspec.json.encode(provenance).startswith(content[:10]):
                raise KitError(f"{self.path}: not the results file of a sweep")
            self._file.truncate(0)
            self._write(msgspec.json.encode(provenance) + b"\n")
            return provenance
        known = self._header(lines[0], provenance)
        self.rows |= _rows(lines, self.path)
        if len(whole) != len(content):  # the line that a killed process was writing
            self._file.truncate(len(whole))
        return known

    def _header(self, line: bytes, mine: Provenance) -> Provenance:
        found = _provenance(line, self.path)
        for name in ("format", "kitlib", "scenario", "metrics", "release", "scenario_hash"):
            theirs, ours = getattr(found, name), getattr(mine, name)
            if theirs != ours:
                raise KitError(
                    f"{self.path}: results of another sweep: {name} is {shortened(str(theirs), 80)}, "
                    f"now {shortened(str(ours), 80)}; name another file or delete this one"
                )
        return found

    def _write(self, text: bytes) -> None:
        before = self._file.seek(0, os.SEEK_END)
        left = memoryview(text)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(before)
            raise KitError(f"{self.path}: {error.strerror or error}") from None


def read(path: Path) -> tuple[Provenance, list[SweepRow]]:
    """Return what a results file holds: its header, and the last row of each point, in the file's order.

    Another version of kitlib may have computed it: nothing is continued here.

    Raises:
        KitError: it cannot be read, or is no results file.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KitError(f"{path}: {error.strerror or error}") from None
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if not lines:
        raise KitError(f"{path}: not the results file of a sweep")
    return _provenance(lines[0], path), list(_rows(lines, path).values())


def _provenance(line: bytes, path: Path) -> Provenance:
    """The header of a file of any version. Raises: KitError."""
    check_format(line, FORMAT, str(path))
    try:
        return decoder(Provenance).decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise KitError(f"{path}: not the results file of a sweep") from None


def _rows(lines: list[bytes], path: Path) -> dict[str, SweepRow]:
    """Key of a point -> its last row, of the lines behind the header. Raises: KitError."""
    reads, found = decoder(SweepRow), dict[str, SweepRow]()
    for number, line in enumerate(lines[1:], start=2):
        if len(line) > MAX_LINE:
            raise KitError(f"{path}: line {number}: {len(line)} bytes; at most {MAX_LINE} are read")
        try:
            row = reads.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise KitError(f"{path}: line {number}: not a row: {shortened(str(error), 200)}") from None
        found[key(row.point)] = row
    return found


def _lock(file: Any, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows, a browser
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise KitError(f"{path}: another sweep is writing to it") from None
    except OSError:  # a file system without locks
        return
