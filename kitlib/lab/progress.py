"""A learner's activity in one local JSON Lines file: an entry for each prediction, check and hint.

On a hub, entries also record which account opened a lab or notebook, and calls for help.

Entries are only appended, so a killed kernel loses at most the line it was writing; an incomplete last line is ignored
on reading. If the disk is full, entries are kept in memory until the next write, and the learner can continue. The
file is `progress.jsonl` in the folder KITLIB_PROGRESS, else in the user's data folder.

`ProgressEntry` is the schema of a line, and each line has its format (0.1 wrote none). Lines that do not match are
ignored; lines of a newer format cause one warning. `kitlib.lab.submissions` reads the files of other learners, and
trusts nothing in them.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from kitlib.api.errors import KitError
from kitlib.api.file_format import check_format
from kitlib.lab.moved import home_of, plain

if TYPE_CHECKING:
    from kitlib.lab.definition import Ground
    from kitlib.lab.grader import Grade

Kind = Literal["prediction", "check", "hint", "open", "help"]
ACCOUNT = "JUPYTERHUB_USER"
"""Environment variable with the account's name; the hub sets it."""
Name = Annotated[str, msgspec.Meta(max_length=200)]
FORMAT = 1
"""Format of the lines that are written."""
Points = Annotated[float, msgspec.Meta(ge=0, le=1000)]


class ProgressEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a progress file.

    Attributes:
        kind: "prediction", "check", "hint", "open" or "help".
        lab: the lab's or notebook's name, without its number.
        task: the task's or question's name; "" = the lab or notebook as a whole.
        points: points earned by this entry.
        of: points that could be earned.
        seconds: unix time.
        details: the answer, the found and expected state, the evidence of a check.
        format: format of the line; 0 = written by kitlib 0.1.
    """

    kind: Kind
    lab: Name
    task: Name
    points: Points
    of: Points
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e11)]
    details: dict[str, Any] = {}
    format: Annotated[int, msgspec.Meta(ge=0, le=FORMAT)] = 0


_decoder = msgspec.json.Decoder(ProgressEntry)


class Progress:
    """The learner's file of entries.

    Args:
        folder: folder of the file, created when the first entry is written.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.path = Path(folder or default_folder()) / "progress.jsonl"
        self._unsaved: list[ProgressEntry] = []

    def record(self, kind: Kind, lab: str, task: str, points: float, of: float, **details: Any) -> ProgressEntry:
        """Append an entry and return it; an entry that cannot be written causes a warning."""
        entry = ProgressEntry(kind, plain(lab), task, points, of, round(time.time(), 3), details, FORMAT)
        self._unsaved.append(entry)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _append(self.path, self._unsaved)
            self._unsaved.clear()
        except OSError as error:
            told = f"{self.path}: {error.strerror or error}: what you reach is not saved until this can be written"
            warnings.warn(told, stacklevel=2)
        return entry

    def call_for_help(self, lab: str, wanted: bool = True, **details: Any) -> str:
        """Call the trainer, or withdraw the call; return a sentence for the learner.

        Args:
            lab: the lab's or notebook's name.
            wanted: whether help is needed, or no longer.
            details: the cluster to look at: its journal and ground.
        """
        self.record("help", lab, "", 0, 0, wanted=wanted, **details)
        return "Your trainer sees that you need help." if wanted else "Your trainer sees that you no longer need help."

    def opened(self, lab: str) -> None:
        """Record on a hub which account opened a lab or notebook, so that a trainer sees where people are."""
        if account := os.environ.get(ACCOUNT):
            self.record("open", lab, "", 0, 0, owner=account)

    def entries(self, lab: str | None = None) -> Iterator[ProgressEntry]:
        """Yield all entries in order, or those of one lab or notebook, under today's names without numbers."""
        for saved in (*self._saved(), *self._unsaved):
            home = home_of(saved.lab, saved.task)
            entry = saved if home == saved.lab else msgspec.structs.replace(saved, lab=home)
            if lab is None or entry.lab == plain(lab):
                yield entry

    def _saved(self) -> Iterator[ProgressEntry]:
        if not self.path.exists():
            return
        newer = ""
        for line in self.path.read_bytes().splitlines():
            try:
                yield _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                try:
                    check_format(line, FORMAT, str(self.path))
                except KitError as error:
                    newer = str(error)
                continue  # or an incomplete line of a killed kernel
        if newer:
            warnings.warn(f"{newer}; what it wrote there is kept and not counted", stacklevel=3)

    def score(self, lab: str, kinds: Sequence[str] = ("check", "prediction")) -> tuple[float, float]:
        """Return (points, possible points) of a lab: the best check of each task, the first answer to each prediction.

        An answer given after the observed value was shown does not count.
        """
        best: dict[tuple[str, str], ProgressEntry] = {}
        for entry in self.entries(lab):
            key = (entry.kind, entry.task)
            known = best.get(key)
            if entry.kind in kinds and (known is None or _counts_more(entry, known)):
                best[key] = entry
        return sum(e.points for e in best.values()), sum(e.of for e in best.values())

    def hints_taken(self, lab: str, task: str) -> int:
        """Return how many hints of a task the learner has taken."""
        return sum(1 for entry in self.entries(lab) if entry.kind == "hint" and entry.task == task)


def record_grade(
    progress: Progress, lab: str, found: Grade, journal: list[dict[str, Any]], ground: Ground, *, changed: bool
) -> None:
    """Append an entry for each graded task, with the journal that `kitlib lab-report --recheck` replays.

    Args:
        progress: the file to append to.
        lab: the lab's name.
        found: the results of its tasks.
        journal: the learner's actions, in order.
        ground: the conditions under which the lab was done.
        changed: whether the check file differs from the package's.
    """
    for result in found.results:
        progress.record(
            "check",
            lab,
            result.task,
            result.points,
            result.of,
            found=result.found,
            expected=result.expected,
            evidence=list(result.evidence),
            journal=journal,
            ground=msgspec.to_builtins(ground),
            check_changed=changed,
        )


def _counts_more(entry: ProgressEntry, known: ProgressEntry) -> bool:
    """Return whether a later entry of the same task replaces the one that counted until now."""
    return entry.kind == "check" and entry.points > known.points


def _append(path: Path, entries: Sequence[ProgressEntry]) -> None:
    """Write all entries, or none if the disk is full."""
    lines = "".join(
        json.dumps(msgspec.structs.asdict(entry), default=str, ensure_ascii=False) + "\n" for entry in entries
    )
    with path.open("ab+", buffering=0) as file:
        before = file.tell()
        if before and not _ends_with_newline(file):
            # A killed kernel left an incomplete line; appended to it, the new entry would be unreadable too.
            lines = f"\n{lines}"
        left = memoryview(lines.encode())
        try:
            while left:
                left = left[file.write(left) :]
        except OSError:
            file.truncate(before)
            raise


def _ends_with_newline(file: FileIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def default_folder() -> Path:
    """Return KITLIB_PROGRESS, else `kitlib` in XDG_DATA_HOME, else `~/.local/share/kitlib`."""
    if named := os.environ.get("KITLIB_PROGRESS"):
        return Path(named)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "kitlib"
