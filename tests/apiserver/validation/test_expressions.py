"""Compile errors of expressions are errors of their field."""

from __future__ import annotations

import pytest

from kitlib.apiserver.validation.expressions import validate_expression
from kitlib.cel.admission_expressions import PolicyEnvironment


def problems(text: str, *kinds: str, **declared: bool) -> list[tuple[str, object]]:
    found = validate_expression(PolicyEnvironment(False), text, "f", *kinds, **declared)
    return [(error.field, error.value) for error in found]


@pytest.mark.parametrize(
    ("text", "kinds", "valid"),
    [
        ("true", ("bool",), True),
        ("1", ("bool",), False),
        ("1", (), True),
        ("'a'", ("string", "null_type"), True),
        ("null", ("string", "null_type"), True),
        ("object.", (), False),
        ("unknown", (), False),
        ("params.a", (), False),
    ],
)
def test_an_expression_has_one_of_the_kinds(text: str, kinds: tuple[str, ...], valid: bool) -> None:
    assert problems(text, *kinds) == ([] if valid else [("f", text)])


@pytest.mark.parametrize("name", ["variables", "authorizer"])
def test_names_that_are_not_declared(name: str) -> None:
    text = f"{name} == {name}"
    assert problems(text) == []
    assert problems(text, **{name: False}) == [("f", text)]


def test_the_message_is_the_compilers() -> None:
    (error,) = validate_expression(PolicyEnvironment(False), "1", "f", "bool")
    assert error.detail == "must evaluate to bool but got int"
