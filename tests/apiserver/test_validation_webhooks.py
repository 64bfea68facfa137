"""Webhook configurations: their conditions are expressions."""

from __future__ import annotations

import pytest

from kitlib.api.admissionregistration import MatchCondition
from kitlib.apiserver.validation.webhooks import validate_match_conditions
from kitlib.cel.admission_expressions import PolicyEnvironment


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("object.metadata.name ==", "compilation failed: ERROR: <input>:1:"),
        ("'a'", "must evaluate to bool"),
        ("params.x", "undeclared reference to 'params'"),
        ("variables.x", "undeclared reference to 'variables'"),
        ("request.operation == 'CREATE' && authorizer.requestResource.check('x').allowed()", ""),
    ],
)
def test_conditions_are_compiled(expression: str, words: str) -> None:
    found = validate_match_conditions([MatchCondition(name="a", expression=expression)], "f", PolicyEnvironment())
    assert [error.field for error in found] == (["f[0].expression"] if words else [])
    assert all(words in error.body for error in found)
