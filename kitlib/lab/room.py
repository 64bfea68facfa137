"""What an instructor decides for a whole room: which labs are open, and which variant everybody gets.

The decisions stand in one file, `room.json`, which learners' servers see but cannot write (KITLIB_ROOM names it there).
It is read whenever a lab is opened or checked, so a lab that is opened at the front of the room is open everywhere at
once. Without such a file every lab is open, and variants are the learners' own.

    {"format": 1, "open": ["01-make-it-guaranteed"], "seeds": {"01-make-it-guaranteed": 7}}

A file without a format is one of kitlib 0.1, or was written by hand.
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
from kitlib.lab.variant import check_seed

FILE = "room.json"
VARIABLE = "KITLIB_ROOM"
MAX_FILE = 1 << 20
FORMAT = 1


class _Stored(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The file."""

    format: int = 0
    open: list[str] | None = None
    seeds: dict[str, int] = {}


@dataclass(frozen=True)
class RoomDecisions:
    """The decisions.

    Attributes:
        open: labs that may be worked on; None = all.
        seeds: lab -> the variant that everybody gets; a lab that is not named has the learner's own.
    """

    open: tuple[str, ...] | None = None
    seeds: Mapping[str, int] = field(default_factory=dict)

    def require_open(self, lab: str) -> None:
        """Refuse a lab that is closed.

        Raises:
            KitError: it is.
        """
        if self.open is not None and lab not in self.open:
            raise KitError(f"lab {lab} is closed: your instructor opens it for the room; what you reached is kept")

    def opened(self, labs: Iterable[str]) -> RoomDecisions:
        """The room with these labs open too; where all were open, only these are from now on."""
        return RoomDecisions(tuple(sorted({*(self.open or ()), *labs})), self.seeds)

    def closed(self, labs: Iterable[str], course: Iterable[str]) -> RoomDecisions:
        """The room without these labs.

        Args:
            labs: that are closed.
            course: all labs that there are.
        """
        before = tuple(course) if self.open is None else self.open
        return RoomDecisions(tuple(sorted(set(before) - set(labs))), self.seeds)

    def seeded(self, seeds: Mapping[str, int | None]) -> RoomDecisions:
        """The room with other variants; None gives the learners their own again."""
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
    """A room's file; one that is not there decides nothing.

    Raises:
        KitError: it cannot be read, or is not such a file.
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
        raise KitError(f"{place}: not a room's file: {error}") from None
    return RoomDecisions(None if stored.open is None else tuple(stored.open)).seeded(stored.seeds)


def write(file: str | Path, room: RoomDecisions) -> None:
    """Write a room's file whole: learners read the old one or the new one.

    Raises:
        KitError: it cannot be written.
    """
    place = Path(file)
    stored = _Stored(FORMAT, None if room.open is None else list(room.open), dict(room.seeds))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, msgspec.json.format(msgspec.json.encode(stored)).decode() + "\n")
        place.chmod(0o644)
    except OSError as error:
        raise KitError(f"{place}: {error.strerror or error}") from error
