"""The people of a room: a CSV file with a line for each person and their account.

    account,name
    ada-lovelace,Ada Lovelace
    ada-lovelace-2,Ada Lovelace

A trainer's file needs only a column `name`; accounts are derived from the names. If two people have the same name, the
second gets the account with `-2`.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kitlib.api.errors import KitError

FILE = "roster.csv"
TRAINER = "trainer"
"""The administrator's account, which no learner can have."""
MAX_PEOPLE, MAX_FILE, MAX_NAME = 10_000, 1 << 20, 200
_ACCOUNT = re.compile(r"[a-z][a-z0-9-]{0,30}")
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "æ": "ae", "Æ": "ae", "đ": "d", "Đ": "d"})
"""Letters that Unicode does not decompose into a Latin letter and its mark."""


@dataclass(frozen=True)
class Person:
    """A line of a roster.

    Attributes:
        account: the account's name.
        name: the displayed and printed name.
    """

    account: str
    name: str


def read(file: str | Path) -> tuple[Person, ...]:
    """Return the people of a CSV file in its order.

    Raises:
        KitError: a value is invalid; the message names the file, the line and the value.
    """
    place = Path(file)
    try:
        with place.open("rb") as opened:
            text = opened.read(MAX_FILE + 1).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise KitError(f"{place}: {getattr(error, 'strerror', None) or error}") from error
    if len(text) > MAX_FILE:
        raise KitError(f"{place}: the file must not be larger than {MAX_FILE} bytes")
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(cell.strip() for cell in row)]
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    if "name" not in header:
        raise KitError(
            f"{place}: line 1: must have a column `name` (and a column `account`, if you choose the accounts)"
        )
    if not 0 < len(rows) - 1 <= MAX_PEOPLE:
        raise KitError(f"{place}: must list 1 to {MAX_PEOPLE} people, got {len(rows) - 1}")
    return _people(place, [dict(zip(header, row, strict=False)) for row in rows[1:]])


def _people(place: Path, rows: Iterable[Mapping[str, str]]) -> tuple[Person, ...]:
    made: list[Person] = []
    taken = {TRAINER}
    for number, row in enumerate(rows, start=2):
        name, account = row.get("name", "").strip(), row.get("account", "").strip()
        where = f"{place}: line {number}"
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise KitError(f"{where}: name: must be printable text of 1 to {MAX_NAME} characters, got {name[:80]!r}")
        if account and (not _ACCOUNT.fullmatch(account) or account in taken):
            raise KitError(
                f"{where}: account {account[:80]!r}: must be unique, begin with a lowercase letter, and consist of at "
                f"most 31 lowercase letters, digits and hyphens; `{TRAINER}` is reserved"
            )
        account = account or account_of(name, taken)
        taken.add(account)
        made.append(Person(account, name))
    return tuple(made)


def account_of(name: str, taken: Iterable[str] = ()) -> str:
    """Return an account for a name: its Latin letters and digits, with a number if that account is taken."""
    plain = unicodedata.normalize("NFKD", name.translate(_LETTERS)).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:26].rstrip("-")
    base = base if base[:1].isalpha() else f"learner-{base}".rstrip("-")
    used, number, account = set(taken), 1, base
    while account in used:
        number += 1
        account = f"{base}-{number}"
    return account


def to_csv(people: Iterable[Person]) -> str:
    """Return a roster in the format of the recipe's file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["account", "name"])
    writer.writerows([person.account, person.name] for person in people)
    return out.getvalue()
