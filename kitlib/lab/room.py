"""An instructor's decisions for a whole room: the open labs, and the variant for all learners.

The decisions are in one file, `room.json`, which learners' servers can read but not write (KITLIB_ROOM is its path
there). It is read whenever a lab is opened or checked, so a decision takes effect at once. Without such a file every
lab is open, and each learner has their own variants.

    {"format": 1, "open": ["make-it-guaranteed"], "seeds": {"make-it-guaranteed": 7}}

A file without a format was written by kitlib 0.1 or by hand. Labs may have their numbers, as older files have.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kitlib.api.convert import decoder
from kitlib.api.errors import KitError
from kitlib.api.file_format import check_format
from kitlib.lab.files import write_whole
from kitlib.lab.moved import plain
from kitlib.lab.variant import check_seed

FILE = "room.json"
VARIABLE = "KITLIB_ROOM"
MAX_FILE = 1 << 20
FORMAT = 1


class _Stored(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The schema of the file."""

    format: int = 0
    open: list[str] | None = None
    seeds: dict[str, int] = {}


@dataclass(frozen=True)
class RoomDecisions:
    """The decisions.

    Attributes:
        open: labs that may be worked on; None = all.
        seeds: lab -> seed of the variant for all learners; for other labs learners have their own.
    """

    open: tuple[str, ...] | None = None
    seeds: Mapping[str, int] = field(default_factory=dict)

    def require_open(self, lab: str) -> None:
        """Raise an error if a lab is closed.

        Raises:
            KitError: the lab is closed.
        """
        if self.open is not None and plain(lab) not in self.open:
            raise KitError(f"lab {lab} is closed until your instructor opens it; you keep your points")

    def opened(self, labs: Iterable[str]) -> RoomDecisions:
        """Return the decisions with these labs open too; if all labs were open, only these remain open."""
        return RoomDecisions(tuple(sorted({*(self.open or ()), *labs})), self.seeds)

    def closed(self, labs: Iterable[str], course: Iterable[str]) -> RoomDecisions:
        """Return the decisions with these labs closed.

        Args:
            labs: the labs to close.
            course: all labs of the course.
        """
        before = tuple(course) if self.open is None else self.open
        return RoomDecisions(tuple(sorted(set(before) - set(labs))), self.seeds)

    def seeded(self, seeds: Mapping[str, int | None]) -> RoomDecisions:
        """Return the decisions with other variants; None lets learners have their own again."""
        kept = {lab: seed for lab, seed in {**self.seeds, **seeds}.items() if seed is not None}
        return RoomDecisions(self.open, {lab: check_seed(seed, f"seed of {lab}") for lab, seed in sorted(kept.items())})


def current() -> RoomDecisions:
    """Return the decisions for this learner; without decisions every lab is open.

    An unreadable file has no effect: the trainer has to correct it, `kitlib room` reports it, and closing the labs of
    thirty learners meanwhile would not help.
    """
    named = os.environ.get(VARIABLE, "")
    try:
        return read(named) if named else RoomDecisions()
    except KitError:
        return RoomDecisions()


def file_of(learners: str | Path) -> Path:
    """Return the file of the room to which a folder of learners belongs.

    KITLIB_ROOM names it, else it is in the folder `room` beside the learners' folder, which the recipes mount read-only
    into learners' servers, else in the learners' folder itself.
    """
    if named := os.environ.get(VARIABLE, ""):
        return Path(named)
    folder = Path(learners)
    beside = folder.absolute().with_name("room")
    return (beside if beside.is_dir() else folder) / FILE


def read(file: str | Path) -> RoomDecisions:
    """Read a room's file; a missing file means no decisions.

    Raises:
        KitError: the file cannot be read, or is invalid.
    """
    place = Path(file)
    try:
        with place.open("rb") as opened:
            text = opened.read(MAX_FILE)
    except FileNotFoundError:
        return RoomDecisions()
    except OSError as error:
        raise KitError(f"{place}: {error.strerror or error}") from error
    check_format(text, FORMAT, str(place))
    try:
        stored = decoder(_Stored).decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KitError(f"{place}: not a room file: {error}") from None
    seeds = {plain(lab): seed for lab, seed in stored.seeds.items()}
    return RoomDecisions(None if stored.open is None else tuple(map(plain, stored.open))).seeded(seeds)


def write(file: str | Path, room: RoomDecisions) -> None:
    """Replace a room's file atomically: learners read either the old or the new one.

    Raises:
        KitError: the file cannot be written.
    """
    place = Path(file)
    seeds = {plain(lab): seed for lab, seed in room.seeds.items()}
    stored = _Stored(FORMAT, None if room.open is None else [plain(lab) for lab in room.open], seeds)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, msgspec.json.format(msgspec.json.encode(stored)).decode() + "\n")
        place.chmod(0o644)
    except OSError as error:
        raise KitError(f"{place}: {error.strerror or error}") from error
