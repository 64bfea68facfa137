"""Whose file it is, and which work two learners share."""

from __future__ import annotations

import pytest

from kitlib.lab.remarks import Work, remarks

SAME = "same variant and same journal as"


@pytest.mark.parametrize(
    ("room", "found"),
    [
        ({"ada": Work(("ada",)), "bob": Work(("bob",))}, {}),
        ({"ada": Work(("ada",)), "bob": Work(("ada",))}, {"bob": ["another's file: written by the account ada"]}),
        (
            {"ada": Work(("ada",)), "bob": Work(("ada", "bob"))},
            {"bob": ["another's file: written by the account ada"]},
        ),
        ({"ada": Work(("ada",)), "bob": Work()}, {"bob": ["the file names no account"]}),
        ({"ada": Work(), "bob": Work()}, {}),
        (
            {"ada": Work(journals={"1 a": "x", "1 b": "y"}), "bob": Work(journals={"1 a": "x", "1 b": "z"})},
            {"ada": [f"{SAME} bob: 1 a"], "bob": [f"{SAME} ada: 1 a"]},
        ),
        ({"ada": Work(journals={"1 a": "x"}), "bob": Work(journals={"2 a": "x"})}, {}),
        (
            {name: Work(journals={"1 a": "x"}) for name in "abcdefgh"},
            {
                name: [f"{SAME} {', '.join([o for o in 'abcdefgh' if o != name][:5])} and 2 more: 1 a"]
                for name in "abcdefgh"
            },
        ),
        (
            {"ada": Work(("ada",), collected=True), "eve": Work(("eve",), collected=False)},
            {"eve": ["not among the files that the hub collected"]},
        ),
        (
            {"ada": Work(("ada",), collected=True, unchanged=False)},
            {"ada": ["changed after the hub collected it"]},
        ),
    ],
    ids=[
        "one's own file",
        "a copy",
        "a copy that one went on with",
        "a file without an account in a hub's room",
        "a room without accounts",
        "the same work in one task",
        "equal digests of different labs",
        "a whole room with one solution",
        "a file put there later",
        "a file changed later",
    ],
)
def test_what_an_instructor_should_look_at(room: dict[str, Work], found: dict[str, list[str]]) -> None:
    assert {name: list(texts) for name, texts in remarks(room).items() if texts} == found
