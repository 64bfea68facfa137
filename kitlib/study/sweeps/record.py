"""A sweep's results file: a header that identifies the sweep, then a line for each row, so that a kill loses little.

The file is data (JSON Lines, checked against a schema). A sweep that finds its own file reads the existing rows and
computes the others; of two rows of the same point the later one counts. A file of another scenario, metric or version
of kitlib is rejected, and so is a second process that writes at the same time.
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
    """The identity of a sweep: what was computed, and with which version.

    Attributes:
        format: version of the file's format.
        kitlib: version of kitlib.
        scenario: name of the scenario.
        scenario_hash: SHA-256 of the scenario's data, or of its functions' names and sources, and of the metrics'.
        metrics: names of the measured columns.
        release: release of the scheduler, unless the grid has a parameter `release`.
        began: time (UTC) of the sweep's first start.
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
        path: path of the file; it is created if missing.
        provenance: provenance of this sweep.

    Attributes:
        rows: the file's row by key of the point.
        provenance: the provenance with the time of the sweep's first start.

    Raises:
        KitError: the file cannot be read or written, is no results file, belongs to another sweep, or is in use.
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
        """Append rows to the file.

        Raises:
            KitError: the rows cannot be written; the file is unchanged then.
        """
        self._write(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()

    def _read(self, provenance: Provenance) -> Provenance:
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not lines:
            # A file without a complete line is a header that a killed process was writing, or another kind of file,
            # which must not be overwritten.
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
    """Return a results file's header and the last row of each point, in the file's order.

    The file may be of another version of kitlib: it is only read, not continued.

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
    """Return the header of a file of any version.

    Raises:
        KitError: the line is not the header of a results file.
    """
    check_format(line, FORMAT, str(path))
    try:
        return decoder(Provenance).decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise KitError(f"{path}: not the results file of a sweep") from None


def _rows(lines: list[bytes], path: Path) -> dict[str, SweepRow]:
    """Return the last row of each point, by the point's key.

    Raises:
        KitError: a line is too long or not a row.
    """
    reads, found = decoder(SweepRow), dict[str, SweepRow]()
    for number, line in enumerate(lines[1:], start=2):
        if len(line) > MAX_LINE:
            raise KitError(f"{path}: line {number}: too long: {len(line)} bytes, but at most {MAX_LINE} are allowed")
        try:
            row = reads.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise KitError(f"{path}: line {number}: not a row of results: {shortened(str(error), 200)}") from None
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
