"""A roster: accounts of names, two people of one name, what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.workshop import roster


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("name\nAda Lovelace\n", [("ada-lovelace", "Ada Lovelace")]),
        ("name\nAda\nAda\nAda\n", [("ada", "Ada"), ("ada-2", "Ada"), ("ada-3", "Ada")]),
        ("Account;Name\nal;Ada Lovelace\n;Bob\n", [("al", "Ada Lovelace"), ("bob", "Bob")]),
        ("name,account\nBob,\nOther,bob-2\nBob,\n", [("bob", "Bob"), ("bob-2", "Other"), ("bob-3", "Bob")]),
        ("\ufeffname\nŁukasz Größe\n", [("lukasz-grosse", "Łukasz Größe")]),
        ("name\n李雷\n", [("learner", "李雷")]),
        ("name\nTrainer\n", [("trainer-2", "Trainer")]),
        ('name\n"=cmd()"\n', [("cmd", "=cmd()")]),
        ("name\n4th Person\n", [("learner-4th-person", "4th Person")]),
    ],
)
def test_people_get_accounts(tmp_path: Path, text: str, people: list[tuple[str, str]]) -> None:
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    found = roster.read(tmp_path / "people.csv")
    assert [(one.account, one.name) for one in found] == people
    (tmp_path / roster.FILE).write_text(roster.to_csv(found), encoding="utf-8")
    assert roster.read(tmp_path / roster.FILE) == found, "what is written is read again"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: must have a column `name`"),
        ("who\nAda\n", "line 1: must have a column `name`"),
        ("name\n", "must list 1 to 10000 people, got 0"),
        ("account,name\nada,\n", "line 2: name: must be printable text"),
        ("account,name\nada,A\nada,B\n", "line 3: account 'ada': must be unique"),
        ("account,name\ntrainer,A\n", "line 2: account 'trainer'"),
        ("account,name\nAda,A\n", "line 2: account 'Ada'"),
        ("account,name\n../x,A\n", "line 2: account '../x'"),
    ],
)
def test_what_is_no_roster_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "people.csv").write_text(text)
    with pytest.raises(KitError, match=re.escape(says)):
        roster.read(tmp_path / "people.csv")


def test_long_names_get_accounts_that_the_hub_takes() -> None:
    taken: set[str] = set()
    for _ in range(30):
        account = roster.account_of("x" * 200, taken)
        assert re.fullmatch(r"[a-z][a-z0-9-]{0,30}", account) and account not in taken
        taken.add(account)
