"""Expressions in a scenario's data: what they may say, and that they cannot do anything else."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps.expressions import filled

NAMES = {"zones": 3, "i": 7, "policy": "Honor", "on": True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("${zones}", 3),
        ("${policy}", "Honor"),
        ("zone-${i % zones}", "zone-1"),
        ("${zones * 2 - 1}", 5),
        ("${i // 2}${i / 2}", "33.5"),
        ("${-i}", -7),
        ("${'a' + policy}", "aHonor"),
        ("${1 if policy == 'Honor' else 2}", 1),
        ("${min(i, zones)} ${max(i, zones)}", "3 7"),
        ("${on}", True),
        ("it is ${on}", "it is true"),
    ],
)
def test_an_expression_becomes_its_value(text: str, expected: Any) -> None:
    assert filled(text, NAMES, random.Random(1), "x") == expected


def test_what_is_drawn_depends_on_the_seed_alone() -> None:
    def drawn(seed: int) -> list[Any]:
        draw = random.Random(seed)
        return [filled("${choice(1, 2, 4)}${between(0, 99)}", {}, draw, "x") for _ in range(20)]

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("${skew}", "no parameter 'skew'; valid values: i, on, policy, zones"),
        ("${1 +}", "not an expression"),
        ("${}", "not an expression"),
        ("${__import__('os')}", "unsupported expression; use names, numbers"),
        ("${policy.upper()}", "unsupported expression; use names, numbers"),
        ("${[1, 2]}", "unsupported expression; use names, numbers"),
        ("${(lambda: 1)()}", "unsupported expression; use names, numbers"),
        ("${2 ** 9}", "unsupported expression; use names, numbers"),
        ("${policy * 1000}", "operands must be numbers, got 'Honor'"),
        ("${'a' * 9}", "operands must be numbers, got 'a'"),
        ("${i // 0}", "zero"),
        ("${9007199254740992 * 9007199254740992}", "the number is too large"),
        ("${between(1.5, 2)}", "between: arguments must be integers, got 1.5"),
        ("${between(5, 1)}", "empty range"),
        ("${i < policy}", "not supported"),
        ("${" + "1+" * 200 + "1}", "at most 200 are allowed"),
        ("${" + "-" * 150 + "1}", ""),
    ],
)
def test_what_is_no_such_expression_is_refused_where_it_stands(text: str, says: str) -> None:
    try:
        filled(text, NAMES, random.Random(1), "pods[0].cpu")
    except KitError as error:
        assert str(error).startswith("pods[0].cpu: ${") and says in str(error)
    else:
        assert not says
