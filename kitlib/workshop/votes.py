"""A vote of the room before the kernel answers: hidden, then shown, then a second vote; both rounds are kept.

A vote belongs to the account that is logged in at the hub, else to the browser. Each has one vote, which may be changed
while the round is open. Votes are kept without names. A person who deletes cookies gets another vote, since behind one
address this browser looks like another learner's phone. Therefore votes without an account are limited per address and
in total, they take no place of an account's vote, and the trainer can discard them.

    closed -> open (round 1, hidden) -> shown -> open (round 2, hidden) -> shown -> closed
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError

ROUNDS = 2
_ACCOUNT = "@"
"""First letter of voters with an account; those of browsers are hexadecimal."""
REFILL = 10.0
"""Seconds after which an address may have one more new voter."""
MAX_ADDRESSES = 10_000


@dataclass(frozen=True)
class RoomQuestion:
    """A question put to the room.

    Attributes:
        place: the lab or notebook.
        key: the question's name there.
        text: text of the question.
        choices: the possible answers; () = a number.
        unit: unit of the number.
    """

    place: str
    key: str
    text: str
    choices: tuple[str, ...] = ()
    unit: str = ""

    def read(self, answer: object) -> str | float:
        """Convert an answer to the form in which it is counted.

        Raises:
            KitError: the answer is not one of the choices, or not a finite number.
        """
        if self.choices:
            if answer in self.choices:
                return str(answer)
            raise KitError(f"answer {str(answer)[:80]!r}: valid values: {', '.join(self.choices)}")
        try:
            number = float(str(answer).replace(",", "."))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise KitError(f"answer {str(answer)[:80]!r}: must be a number")
        return number


@dataclass
class _Address:
    """The remaining new voters of one address, and the start of the counting period."""

    left: float
    at: float


@dataclass
class Votes:
    """The votes of the room.

    Attributes:
        file: the file of closed questions, JSON Lines.
        places: number of learners; twice as many browsers without an account may vote.
        by_account: whether only accounts vote.
    """

    file: Path
    places: int
    by_account: bool = False
    asked: RoomQuestion | None = None
    round: int = 0
    is_shown: bool = False
    _rounds: list[dict[str, str | float]] = field(default_factory=list)
    _addresses: dict[str, _Address] = field(default_factory=dict)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def open(self, asked: RoomQuestion) -> None:
        """Ask the room a question, after saving an open one."""
        self.close()
        self.asked, self.round, self.is_shown, self._rounds = asked, 1, False, [{}]

    def show(self) -> None:
        """Show the histogram; votes of this round can no longer change."""
        self._require()
        self.is_shown = True

    def again(self) -> None:
        """Start the second round, hidden.

        Raises:
            KitError: no question is open, the first round is not shown yet, or there was a second round.
        """
        self._require()
        if not self.is_shown or self.round >= ROUNDS:
            raise KitError(
                f"a question has at most {ROUNDS} rounds, and a round can begin only after the result of the previous "
                "one is shown"
            )
        self.round, self.is_shown = self.round + 1, False
        self._rounds.append({})

    def require_accounts(self) -> None:
        """Discard the open question's votes without an account, and refuse them from now on."""
        self.by_account = True
        for votes in self._rounds:
            for voter in [vote for vote in votes if not _has_account(vote)]:
                del votes[voter]

    def close(self) -> None:
        """End the question and save the votes of its rounds.

        Raises:
            KitError: the file cannot be written.
        """
        if self.asked is None:
            return
        kept = {
            "seconds": round(time.time(), 3),
            "place": self.asked.place,
            "key": self.asked.key,
            "question": self.asked.text,
            "rounds": [dict(_histogram(votes)) for votes in self._rounds],
            "changed": self._changed(),
        }
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(kept, ensure_ascii=False) + "\n")
        except OSError as error:
            raise KitError(f"{self.file}: {error.strerror or error}") from error
        self.asked, self.round, self._rounds, self.is_shown = None, 0, [], False

    def _changed(self) -> int:
        """Return how many people who voted twice changed their answer."""
        first, second = (*self._rounds, {}, {})[:2]
        return sum(voter in first and first[voter] != answer for voter, answer in second.items())

    def new_voter(self, address: str) -> str:
        """Return a signed mark for a new browser.

        Raises:
            KitError: the address has too many voters.
        """
        now = time.monotonic()
        if len(self._addresses) >= MAX_ADDRESSES:
            self._addresses.clear()
        known = self._addresses.setdefault(address, _Address(2.0 * self.places, now))
        # A token bucket as large as the room, since all its browsers may share one address.
        known.left = min(2.0 * self.places, known.left + (now - known.at) / REFILL)
        known.at = now
        if known.left < 1:
            raise KitError("too many new voters from this address; try again in a few seconds")
        known.left -= 1
        name = secrets.token_hex(8)
        return f"{name}.{self._seal(name)}"

    def voter(self, mark: str) -> str:
        """Return the voter of a mark; "" if this room did not create it."""
        name, _, seal = mark.partition(".")
        # Encoded, since compare_digest raises a TypeError for text that is not ASCII.
        return name if hmac.compare_digest(seal.encode(), self._seal(name).encode()) else ""

    def voter_of(self, account: str) -> str:
        """Return the voter of an account, which does not tell its name."""
        return _ACCOUNT + self._seal(_ACCOUNT + account)

    def _seal(self, name: str) -> str:
        return hmac.new(self._secret, name.encode(), hashlib.sha256).hexdigest()[:32]

    def cast(self, voter: str, answer: object) -> None:
        """Count a vote; it replaces the voter's earlier one.

        Raises:
            KitError: no round is open, the answer is invalid, the room is full, or only accounts vote.
        """
        asked = self._require()
        if self.is_shown:
            raise KitError("voting in this round has ended, because its result is shown")
        votes, value = self._rounds[-1], asked.read(answer)
        if not _has_account(voter):
            if self.by_account:
                raise KitError("you must be logged in to vote")
            browsers = sum(not _has_account(vote) for vote in votes)
            if voter not in votes and browsers >= 2 * self.places:
                raise KitError(f"{browsers} browsers have voted, but the room has {self.places} places; log in to vote")
        votes[voter] = value

    def _require(self) -> RoomQuestion:
        if self.asked is None:
            raise KitError("no question is open")
        return self.asked

    def state(self, voter: str = "", *, trainer: bool = False) -> dict[str, Any]:
        """Return the content of a page; the histogram only after it is shown to the room.

        Args:
            voter: voter whose own vote is included; "" = none.
            trainer: whether to include the parts of the trainer's page.
        """
        if self.asked is None:
            return {"round": 0}
        made: dict[str, Any] = {
            "round": self.round,
            "question": self.asked.text,
            "choices": list(self.asked.choices),
            "unit": self.asked.unit,
            "shown": self.is_shown,
            "count": len(self._rounds[-1]),
            "mine": self._rounds[-1].get(voter),
            "login": self.by_account and not _has_account(voter),
        }
        past = self._rounds if self.is_shown else self._rounds[:-1]
        made["rounds"] = [_histogram(votes, self.asked.choices) for votes in past]
        if trainer:
            made["browsers"] = sum(not _has_account(one) for one in self._rounds[-1])
            made["place"], made["changed"] = self.asked.place, self._changed() if self.is_shown else None
        return made


def _has_account(voter: str) -> bool:
    return voter.startswith(_ACCOUNT)


def _histogram(votes: dict[str, str | float], choices: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    """Return (answer, number of votes): choices in their order, numbers by size."""
    counts = Counter(votes.values())
    if choices:
        return [(choice, counts[choice]) for choice in choices]
    ordered = sorted(counts.items(), key=lambda item: (isinstance(item[0], str), item[0]))
    return [(f"{answer:g}" if isinstance(answer, float) else answer, count) for answer, count in ordered]
