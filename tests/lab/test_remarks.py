"""Whose file it is, and which work two learners share."""

from __future__ import annotations

import pytest

from kitlib.lab.remarks import SharedFile, remarks

SAME = "same variant and same journal as"


@pytest.mark.parametrize(
    ("room", "found"),
    [
        ({"ada": SharedFile(("ada",)), "bob": SharedFile(("bob",))}, {}),
        (
            {"ada": SharedFile(("ada",)), "bob": SharedFile(("ada",))},
            {"bob": ["another's file: written by the account ada"]},
        ),
        (
            {"ada": SharedFile(("ada",)), "bob": SharedFile(("ada", "bob"))},
            {"bob": ["another's file: written by the account ada"]},
        ),
        ({"ada": SharedFile(("ada",)), "bob": SharedFile()}, {"bob": ["the file names no account"]}),
        ({"ada": SharedFile(), "bob": SharedFile()}, {}),
        (
            {
                "ada": SharedFile(journals={"1 a": "x", "1 b": "y"}),
                "bob": SharedFile(journals={"1 a": "x", "1 b": "z"}),
            },
            {"ada": [f"{SAME} bob: 1 a"], "bob": [f"{SAME} ada: 1 a"]},
        ),
        ({"ada": SharedFile(journals={"1 a": "x"}), "bob": SharedFile(journals={"2 a": "x"})}, {}),
        (
            {name: SharedFile(journals={"1 a": "x"}) for name in "abcdefgh"},
            {
                name: [f"{SAME} {', '.join([o for o in 'abcdefgh' if o != name][:5])} and 2 more: 1 a"]
                for name in "abcdefgh"
            },
        ),
        (
            {"ada": SharedFile(("ada",), collected=True), "eve": SharedFile(("eve",), collected=False)},
            {"eve": ["not among the files that the hub collected"]},
        ),
        (
            {"ada": SharedFile(("ada",), collected=True, unchanged=False)},
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
def test_what_an_instructor_should_look_at(room: dict[str, SharedFile], found: dict[str, list[str]]) -> None:
    assert {name: list(texts) for name, texts in remarks(room).items() if texts} == found
