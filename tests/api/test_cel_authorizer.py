"""Questions of who may do what, and what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.admission_expressions import OBJECTS, Environment
from kitlib.api.cel_authorizer import AUTHORIZER, Answer, Authorizer, Question
from kitlib.api.cel_expression import compile_expression
from kitlib.api.cel_parser import CompileError
from kitlib.api.errors import KitError

WRITE = Question(group="apps", resource="deployments", namespace="a", name="web")


def asked(text: str, max_cost: int = 200_000) -> Any:
    """The answer of an expression, and the questions that it asked; only reading is allowed."""
    questions: list[Question] = []

    def decide(question: Question) -> Answer:
        questions.append(question)
        return Answer(question.verb == "get", "because" if question.verb == "get" else "")

    made = compile_expression(text, {"authorizer": AUTHORIZER}, OBJECTS, max_length=1000)
    return made.evaluate({"authorizer": Authorizer(decide, WRITE)}, max_cost), questions


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("authorizer.path('/healthz').check('get').allowed()", Question("get", path="/healthz")),
        (
            "authorizer.group('apps').resource('deployments').check('get').allowed()",
            Question("get", "apps", "deployments"),
        ),
        (
            "authorizer.group('').resource('pods').subresource('log').namespace('a').name('p').check('get').allowed()",
            Question("get", "", "pods", "log", "a", "p"),
        ),
        (
            "authorizer.serviceAccount('a', 'b').group('').resource('pods').check('get').reason() == 'because'",
            Question("get", "", "pods", account=("a", "b")),
        ),
        (
            "!authorizer.requestResource.check('delete').allowed()",
            Question("delete", "apps", "deployments", namespace="a", name="web"),
        ),
        (
            "!authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('get').errored()",
            Question("get", "", "pods"),
        ),
        ("authorizer.path('/x').check('get').error() == ''", Question("get", path="/x")),
    ],
)
def test_what_is_asked(text: str, question: Question) -> None:
    assert asked(text) == (True, [question])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("authorizer.path('').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('a').check('get').allowed()", "no matching overload for 'check'"),
        ("authorizer.other", "undefined field 'other'"),
        ("authorizer.group(1)", "'group' applied to 'kubernetes.authorization.Authorizer.(int)'"),
        (" && ".join(["authorizer.path('/x').check('get').allowed()"] * 3), "cost limit exceeded"),
    ],
)
def test_what_cannot_be_asked(text: str, words: str) -> None:
    with pytest.raises(KitError, match=words.replace("(", r"\(").replace(")", r"\)")):
        asked(text)


def test_messages_may_not_ask() -> None:
    with pytest.raises(CompileError, match="undeclared reference to 'authorizer'"):
        Environment().compile("authorizer.path('/').check('get').reason()", authorizer=False)
