"""Questions of who may do what, and what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.authorization import Attributes, AuthorizationDecision
from kitlib.api.errors import KitError
from kitlib.cel.admission_expressions import OBJECTS, PolicyEnvironment
from kitlib.cel.authorizer import AUTHORIZER, AuthorizerValue, ServiceAccount
from kitlib.cel.expression import compile_expression
from kitlib.cel.parser import CompileError

Asked = tuple[Attributes, ServiceAccount | None]
WRITE = Attributes(group="apps", resource="deployments", namespace="a", name="web")


def asked(text: str, max_cost: int = 200_000) -> Any:
    """The answer of an expression, and the questions that it asked; only reading is allowed."""
    questions: list[Asked] = []

    def decide(about: Attributes, account: ServiceAccount | None) -> AuthorizationDecision:
        questions.append((about, account))
        return AuthorizationDecision(about.verb == "get", "because" if about.verb == "get" else "")

    made = compile_expression(text, {"authorizer": AUTHORIZER}, OBJECTS, max_length=1000)
    return made.evaluate({"authorizer": AuthorizerValue(decide, WRITE)}, max_cost), questions


@pytest.mark.parametrize(
    ("text", "question", "account"),
    [
        ("authorizer.path('/healthz').check('get').allowed()", Attributes("get", path="/healthz"), None),
        (
            "authorizer.group('apps').resource('deployments').check('get').allowed()",
            Attributes("get", "apps", "deployments"),
            None,
        ),
        (
            "authorizer.group('').resource('pods').subresource('log').namespace('a').name('p').check('get').allowed()",
            Attributes("get", "", "pods", "log", "a", "p"),
            None,
        ),
        (
            "authorizer.serviceAccount('a', 'b').group('').resource('pods').check('get').reason() == 'because'",
            Attributes("get", "", "pods"),
            ("a", "b"),
        ),
        (
            "!authorizer.requestResource.check('delete').allowed()",
            Attributes("delete", "apps", "deployments", namespace="a", name="web"),
            None,
        ),
        (
            "!authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('get').errored()",
            Attributes("get", "", "pods"),
            None,
        ),
        ("authorizer.path('/x').check('get').error() == ''", Attributes("get", path="/x"), None),
    ],
)
def test_what_is_asked(text: str, question: Attributes, account: ServiceAccount | None) -> None:
    assert asked(text) == (True, [(question, account)])


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
        PolicyEnvironment().compile("authorizer.path('/').check('get').reason()", authorizer=False)
