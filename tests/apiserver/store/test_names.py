"""Random names of a cluster: the same seed gives the same ones, and a repeated attempt gets the same ones again."""

from __future__ import annotations

import re

from kitlib.apiserver.store.names import SUFFIX_ALPHABET, Names


def drawn(names: Names, count: int = 3) -> list[str]:
    return [name for _ in range(count) for name in (names.new_uid(), names.new_suffix())]


def test_the_form_of_names() -> None:
    """Source: util/rand, which has no vowels and none of 0, 1, 3."""
    assert SUFFIX_ALPHABET == "bcdfghjklmnpqrstvwxz2456789"
    for uid, suffix in zip(*[iter(drawn(Names(1), 20))] * 2, strict=True):
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", uid)
        assert re.fullmatch(f"[{SUFFIX_ALPHABET}]{{5}}", suffix)


def test_a_seed_decides() -> None:
    assert drawn(Names(5)) == drawn(Names(5)) != drawn(Names(6))
    assert len(set(drawn(Names(5), 50))) == 100


def test_a_repeated_attempt_gets_the_names_again() -> None:
    names, given = Names(5), list[str]()
    with names.repeating(given):
        first = [names.new_suffix(), names.new_uid()]
    assert given == first
    with names.repeating(given):
        again = [names.new_suffix(), names.new_uid(), names.new_suffix()]
    assert again[:2] == first and given == again
    assert names.new_suffix() not in given


def test_attempts_inside_of_attempts_are_apart() -> None:
    names, outer, inner = Names(5), list[str](), list[str]()
    with names.repeating(outer):
        one = names.new_uid()
        with names.repeating(inner):
            two = names.new_uid()
        three = names.new_uid()
    assert (outer, inner) == ([one, three], [two])
