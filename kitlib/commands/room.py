"""`kitlib room FOLDER`: an instructor's view over all learners; opens and closes labs, fixes variants."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import file_named, number, path


def add(commands: Any) -> None:
    made = commands.add_parser(
        "room",
        help="show who is at which lab and who is stuck; open and close labs for everybody",
        description="Read the progress files in FOLDER (NAME.jsonl or NAME/progress.jsonl) and show every learner, "
        "those who need help first. The room's file says which labs are open and which variants are fixed; learners' "
        "servers read it (KITLIB_ROOM).",
    )
    made.add_argument("folder", type=path, help="folder with the learners' files on shared storage")
    made.add_argument("--open", nargs="+", default=[], metavar="LAB", help="labs to open: 03, or the full name")
    made.add_argument("--close", nargs="+", default=[], metavar="LAB", help="labs to close, or `all`")
    made.add_argument(
        "--seed",
        nargs="+",
        default=[],
        metavar="LAB=N",
        help="LAB=N gives all learners variant N of a lab; LAB= restores their own variants",
    )
    made.add_argument(
        "--file",
        type=path,
        help="path of the room file (default: KITLIB_ROOM, else ../room/room.json of FOLDER if that folder exists, "
        "else FOLDER/room.json)",
    )
    made.add_argument(
        "--roster",
        type=path,
        metavar="FILE.csv",
        help="CSV file with the people of the room; also shows people who are absent",
    )
    made.add_argument("--watch", type=number(1), metavar="SECONDS", help="refresh the table every SECONDS until Ctrl-C")
    made.add_argument(
        "-o",
        "--output",
        type=file_named(".html"),
        metavar="FILE",
        help="write an HTML page that refreshes itself to this file",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.lab import room, room_view
    from kitlib.lab.files import write_whole
    from kitlib.lab.submissions import course_labs
    from kitlib.workshop import roster

    people = {person.account: person.name for person in roster.read(options.roster)} if options.roster else None
    view = room_view.RoomView(options.folder, people)
    file = options.file or room.file_of(options.folder)
    decided, problem = _decided(file)
    if problem and (options.open or options.close or options.seed):
        raise KitError(f"{problem}; fix or delete the file, then run the command again")
    if options.open or options.close or options.seed:
        course = tuple(course_labs())
        decided = decided.closed(_named(options.close, course), course) if options.close else decided
        decided = decided.opened(_named(options.open, course)) if options.open else decided
        decided = decided.seeded(_seeds(options.seed, course))
        room.write(file, decided)
    try:
        while True:
            seats = view.seats()
            if options.output is None:
                print(f"{problem}: it decides nothing, every lab is open\n" if problem else "", end="")
                print(room_view.to_text(seats, decided), end="", flush=True)
            else:
                write_whole(options.output, room_view.to_html(seats, decided))
            if options.watch is None:
                return 0
            time.sleep(options.watch)
            decided, problem = _decided(file)
    except OSError as error:
        raise KitError(f"{options.output}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        return 0


def _decided(file: Path) -> tuple[Any, str]:
    """Return the room's decisions and the problem with its file, with which learners' servers ignore the decisions."""
    from kitlib.api.errors import KitError
    from kitlib.lab import room

    try:
        return room.read(file), ""
    except KitError as error:
        return room.RoomDecisions(), str(error)


def _named(words: Sequence[str], course: Sequence[str]) -> list[str]:
    """Return the labs for names or numbers.

    Raises:
        KitError: a lab does not exist.
    """
    from kitlib.lab.launch import in_course
    from kitlib.lab.moved import plain

    return [lab for word in words for lab in (course if word == "all" else [plain(in_course("labs", word).name)])]


def _seeds(words: Sequence[str], course: Sequence[str]) -> dict[str, int | None]:
    """Return lab -> seed of its variant for arguments such as `03=7`.

    Raises:
        KitError: an argument is invalid.
    """
    from kitlib.api.errors import KitError
    from kitlib.lab.variant import check_seed

    found: dict[str, int | None] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise KitError(f"--seed {word}: must have the form LAB=N")
        for lab in _named([name], course):
            found[lab] = check_seed(value, f"seed of {lab}") if value else None
    return found
