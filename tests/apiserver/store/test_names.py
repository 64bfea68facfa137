"""Random names of a cluster: the same seed gives the same ones, and a repeated attempt gets the same ones again."""

from __future__ import annotations

import re

from kitlib.api.core import ConfigMap
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.store.names import SUFFIX_ALPHABET, Names
from kitlib.apiserver.store.store import Store


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
    names, given = Names(5), dict[str, list[str]]()
    with names.repeating(given):
        suffix, uid = names.new_suffix(), names.new_uid()
    with names.repeating(given):
        again = [names.new_suffix(), names.new_uid(), names.new_suffix()]
    assert again[:2] == [suffix, uid] and given == {"suffixes": [suffix, again[2]], "uids": [uid]}
    assert names.new_suffix() not in given["suffixes"]


def test_an_attempt_with_names_in_another_order_gets_no_uid_as_a_suffix() -> None:
    """A repeated change of a Job may create fewer objects before its pods, which are then named after UIDs."""
    names, given = Names(5), dict[str, list[str]]()
    with names.repeating(given):
        drawn(names)
    with names.repeating(given):
        assert len(names.new_suffix()) == 5 and len(names.new_suffix()) == 5 and len(names.new_uid()) == 36


def test_attempts_inside_of_attempts_are_apart() -> None:
    names, outer, inner = Names(5), dict[str, list[str]](), dict[str, list[str]]()
    with names.repeating(outer):
        one = names.new_uid()
        with names.repeating(inner):
            two = names.new_uid()
        three = names.new_uid()
    assert (outer, inner) == ({"uids": [one, three]}, {"uids": [two]})


def test_a_repeated_request_shares_no_names_with_objects_that_it_has_stored() -> None:
    """A step that is done is not repeated, so its objects are there when the names come again."""
    store, given = Store(), dict[str, list[str]]()
    for _ in range(2):
        with store.names.repeating(given):
            store.create(ConfigMap(metadata=ObjectMeta(generate_name="a-", namespace="default")))
    first, second = store.list(ConfigMap)
    assert first.metadata.uid != second.metadata.uid and first.name != second.name
