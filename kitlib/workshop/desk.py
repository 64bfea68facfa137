"""The trainer's desk: the data and decisions behind the pages of a room, without HTTP.

Progress files are read from the hub's storage; nothing of a learner's folder is trusted or run. Calls for help come
from the files (`lab.call_for_help()`) and from the page that learners open on a phone.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab import collected, look, room, room_view, submissions
from kitlib.lab.grading_process import look_apart
from kitlib.lab.lessons import content
from kitlib.workshop.votes import RoomQuestion, Votes

LOOK_SECONDS = 10.0
"""Timeout of the replay of a learner's journal in seconds."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The paths and settings of a room.

    Attributes:
        learners: the folder with ACCOUNT/progress.jsonl.
        room: the room's file, `room.json`.
        collected: the folder for copies of progress files.
        key: the private key that signs the copies.
        people: the roster, account -> name.
        places: number of learners.
        good_faith: whether learners' kernels can read the key.
    """

    learners: Path
    room: Path
    collected: Path
    key: Path
    people: dict[str, str]
    places: int
    good_faith: bool


@dataclass
class Desk:
    """A room while it runs.

    Attributes:
        settings: the paths and settings.
        votes: the current question to the room.
        calls: account -> unix time of the learner's call on the page.
        answered: account -> unix time of the trainer's last visit.
    """

    settings: Settings
    calls: dict[str, float] = field(default_factory=dict)
    answered: dict[str, float] = field(default_factory=dict)
    votes: Votes = field(init=False)
    _view: room_view.RoomView = field(init=False)

    def __post_init__(self) -> None:
        self.settings.learners.mkdir(parents=True, exist_ok=True)
        self._view = room_view.RoomView(self.settings.learners, self.settings.people)
        self.votes = Votes(self.settings.collected.with_name("votes.jsonl"), self.settings.places)

    def seats(self) -> list[room_view.Seat]:
        """Return the state of every learner with a file or on the roster, those who need help first."""
        now = time.time()
        made = [self._with_call(seat, now) for seat in self._view.seats(now, self.answered)]
        return sorted(made, key=lambda seat: (room_view.ORDER.index(seat.state), -seat.waits))

    def _with_call(self, seat: room_view.Seat, now: float) -> room_view.Seat:
        called = self.calls.get(seat.learner, 0.0)
        if called <= self.answered.get(seat.learner, 0.0) or seat.state == room_view.HELP:
            return seat
        waits = now - called
        why = f"asks for help since {waits / 60:.0f} min{f'; {seat.why}' if seat.why else ''}"
        return replace(seat, state=room_view.HELP, waits=waits, why=why)

    def board(self) -> dict[str, Any]:
        """Return the data of the trainer's page."""
        seats = self.seats()
        try:
            decided, problem = room.read(self.settings.room), ""
        except KitError as error:
            decided, problem = room.RoomDecisions(), f"{error}: it decides nothing, every lab is open"
        counts = Counter(seat.state for seat in seats)
        places = sorted({seat.lab for seat in seats if seat.lab})
        return {
            "time": time.strftime("%H:%M"),
            "problem": problem,
            "good_faith": self.settings.good_faith,
            "counts": [[state, counts[state]] for state in room_view.ORDER if counts[state]],
            "places": [[place, sum(seat.lab == place for seat in seats)] for place in places],
            "seats": [asdict(seat) for seat in seats],
            "labs": [[lab, decided.open is None or lab in decided.open] for lab in submissions.course_labs()],
            "predictions": [
                [place, key, right, answered] for (place, key), (right, answered) in self._view.predictions().items()
            ],
            "vote": self.votes.state(trainer=True),
        }

    def call(self, account: str, wanted: bool) -> None:
        """Record a call for help from the learner's page, or its end."""
        if wanted:
            self.calls[account] = time.time()
        else:
            self.answer(account)

    def answer(self, account: str) -> None:
        """Record that the trainer came, which ends earlier calls."""
        self.answered[account] = time.time()

    def decide(self, lab: str, is_open: bool) -> None:
        """Open or close a lab for all learners.

        Raises:
            KitError: the lab does not exist, or the room's file cannot be read or written.
        """
        course = tuple(submissions.course_labs())
        if lab not in course:
            raise KitError(f"no lab {lab[:80]!r}; valid values: {', '.join(course)}")
        decided = room.read(self.settings.room)
        if is_open:
            made = decided if decided.open is None else decided.opened([lab])
        else:
            made = decided.closed([lab], course)
        room.write(self.settings.room, made)

    def look(self, account: str) -> str:
        """Return a learner's cluster as text, from a replay in a separate process.

        Raises:
            KitError: the learner does not exist, or has no journal that can be replayed.
        """
        file = self._view.files().get(account)
        if file is None:
            raise KitError(f"learner {account[:80]!r} has not run anything yet")
        moment = look.newest(file)
        text = look_apart(look.source(moment), moment.journal, moment.ground, seconds=LOOK_SECONDS)
        return f"{moment.lab}, variant {moment.ground.seed}\n\n{text}"

    def collect(self) -> str:
        """Copy and sign all learners' files, and return the result in one sentence.

        Raises:
            KitError: the copies cannot be written.
        """
        settings = self.settings
        made = collected.collect(
            settings.learners,
            settings.collected,
            settings.key,
            names=settings.people,
            good_faith=settings.good_faith,
        )
        refused = f", {len(made.refused)} refused: {', '.join(made.refused)}" if made.refused else ""
        return f"{len(made.files)} files copied to {settings.collected} and signed with {settings.key}{refused}"

    def questions(self) -> list[RoomQuestion]:
        """Return every prediction of the course."""
        found = [
            RoomQuestion(name, question.key, question.text, tuple(question.choices), question.unit)
            for name, numbered in submissions.course_notebooks().items()
            for question in content(numbered).questions.values()
        ]
        return found + [
            RoomQuestion(name, prediction.key, prediction.question, tuple(prediction.choices or ()), prediction.unit)
            for name, definition in submissions.course_labs().items()
            for prediction in definition.predictions
        ]

    def vote(self, step: str, place: str = "", key: str = "") -> None:
        """Advance the vote by one step.

        Args:
            step: "open" (with `place` and `key`), "show", "again", "accounts" or "close".
            place: lab or notebook of the question.
            key: name of the question.

        Raises:
            KitError: the question or step does not exist, or the step is not possible now.
        """
        steps = {
            "show": self.votes.show,
            "again": self.votes.again,
            "accounts": self.votes.require_accounts,
            "close": self.votes.close,
        }
        if step == "open":
            for asked in self.questions():
                if (asked.place, asked.key) == (place, key):
                    self.votes.open(asked)
                    return
            raise KitError(f"{place[:80]!r} of the course has no question {key[:80]!r}")
        if step not in steps:
            raise KitError(f"step {step[:80]!r}: valid values: open, {', '.join(steps)}")
        steps[step]()
