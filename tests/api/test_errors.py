"""Errors: codes and reasons of Status, the messages, and how kubectl prints them."""

from __future__ import annotations

import pytest

from kitlib.api import errors
from kitlib.api.errors import KitError, ManifestError, as_kubectl_prints, refusal, shortened
from kitlib.api.field_errors import invalid, required

ONE, TWO = required("spec.a"), invalid("spec.b", 1, "no")
ONE_TEXT, TWO_TEXT = "spec.a: Required value", "spec.b: Invalid value: 1: no"


@pytest.mark.parametrize(
    ("error", "code", "reason", "text"),
    [
        (errors.NotFound("pods", "web"), 404, "NotFound", 'pods "web" not found'),
        (errors.AlreadyExists("pods", "web"), 409, "AlreadyExists", 'pods "web" already exists'),
        (errors.Conflict("pods", "web", "x"), 409, "Conflict", 'Operation cannot be fulfilled on pods "web": x'),
        (
            errors.Conflict("pods", "web"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "web": the object has been modified; please apply your changes to '
            "the latest version and try again",
        ),
        (errors.Forbidden("pods", "web", "no"), 403, "Forbidden", 'pods "web" is forbidden: no'),
        (errors.Invalid("Pod", "web", [ONE]), 422, "Invalid", f'Pod "web" is invalid: {ONE_TEXT}'),
        (
            errors.Invalid("Pod", "web", [ONE, TWO, ONE]),
            422,
            "Invalid",
            f'Pod "web" is invalid: [{ONE_TEXT}, {TWO_TEXT}]',
        ),
        (errors.Invalid("Pod", "web", [ONE, ONE]), 422, "Invalid", f'Pod "web" is invalid: {ONE_TEXT}'),
        (errors.PolicyDenied("pods", "web", "no", 422, "Invalid"), 422, "Invalid", 'pods "web" is forbidden: no'),
        (errors.MutationDenied("pods", "web", ["a", "b"], "Invalid"), 403, "Invalid", "a"),
        (errors.TooManyRequests("later"), 429, "TooManyRequests", "later"),
        (errors.InternalError("x"), 500, "InternalError", "x"),
        (errors.RequestTooLarge("x"), 500, "", "x"),
        (errors.MethodNotAllowed("x"), 405, "MethodNotAllowed", "x"),
        (errors.NoMatch("Foo", "a/v1"), 0, "NoMatch", 'no matches for kind "Foo" in version "a/v1"'),
        (ManifestError("bad", file="f.yaml", document=2, field="spec.a"), 400, "BadRequest", "bad"),
        (KitError("x"), 400, "BadRequest", "x"),
    ],
)
def test_the_answer_of_the_api_server(error: KitError, code: int, reason: str, text: str) -> None:
    """Source: apimachinery api/errors; a position in a file is not part of the answer."""
    assert refusal(error) == (code, reason, text)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "bad"),
        ({"file": "f.yaml"}, "f.yaml: bad"),
        ({"document": 1}, "document 1: bad"),
        ({"field": "a"}, "a: bad"),
        ({"file": "f.yaml", "document": 3, "field": "a.b"}, "f.yaml, document 3, a.b: bad"),
    ],
)
def test_a_manifest_error_begins_with_its_position(place: dict[str, object], text: str) -> None:
    assert str(ManifestError("bad", **place)) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.NotFound("pods", "w"), 'Error from server (NotFound): pods "w" not found'),
        (errors.Invalid("Deployment.apps", "w", [ONE]), f'The Deployment "w" is invalid: {ONE_TEXT}'),
        (errors.Invalid("Pod", "w", [ONE, ONE]), f'The Pod "w" is invalid: {ONE_TEXT}'),
        (errors.Invalid("Pod", "w", [ONE, TWO]), f'The Pod "w" is invalid: \n* {ONE_TEXT}\n* {TWO_TEXT}'),
        (errors.PolicyDenied("pods.x", "w", "no", 422, "Invalid"), 'The pods "w" is invalid: : no'),
        (
            errors.PolicyDenied("pods", "w", "no", 403, "Forbidden"),
            'Error from server (Forbidden): pods "w" is forbidden: no',
        ),
        (
            errors.MutationDenied("pods", "w", ["a", "b", "a"], "Invalid"),
            'The pods "w" is invalid: \n* : a\n* : b',
        ),
        (errors.NoMatch("Foo", "v1"), 'error: resource mapping not found: no matches for kind "Foo" in version "v1"'),
        (ManifestError("bad", file="f"), "Error from server (BadRequest): bad"),
    ],
)
def test_an_error_as_kubectl_prints_it(error: KitError, text: str) -> None:
    """Source: kubectl StandardErrorMessage, MultilineError."""
    assert as_kubectl_prints(error) == text


def test_a_notebook_shows_an_error_with_its_notes_and_without_a_traceback() -> None:
    error = errors.TooManyRequests("later", [("DisruptionBudget", "needs 2"), ("DisruptionBudget", "has 1")])
    assert error._render_traceback_() == ["Error from server (TooManyRequests): later", "needs 2", "has 1"]
    assert error.causes == [("DisruptionBudget", "needs 2"), ("DisruptionBudget", "has 1")]


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (8, "abcdefgh"),
        (9, "abcd … (9 characters) … hi"),
    ],
)
def test_a_long_text_keeps_its_beginning_and_its_end(length: int, expected: str) -> None:
    assert shortened("abcdefghi"[:length], 8) == expected


def test_messages_have_a_maximum_length() -> None:
    error = errors.NotFound("pods", "x" * 20_000)
    assert len(str(error)) < 10_000
    assert "(20017 characters)" in str(error)
    assert len(str(errors.MutationDenied("pods", "w", ["y" * 20_000], "Invalid"))) < 10_000


def test_bases_that_callers_catch() -> None:
    assert issubclass(errors.NotFound, LookupError) and issubclass(errors.NoMatch, LookupError)
    assert issubclass(errors.Invalid, ValueError) and issubclass(ManifestError, ValueError)
