"""Status objects, and the conversion of the kit's errors."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api import errors
from kitlib.api.field_errors import FieldError, required
from kitlib.apiserver.http.status import StatusError, of_error, success


def converted(error: Exception, name: str = "w") -> tuple[int, str, str, dict[str, Any]]:
    found = of_error(error, "apps", "deployments", "Deployment", name)
    return found.code, found.reason, found.message, found.details


NAMED = {"name": "w", "group": "apps", "kind": "deployments"}
CAUSE = {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"}


@pytest.mark.parametrize(
    ("error", "code", "reason", "details"),
    [
        (errors.NotFound("deployments.apps", "w"), 404, "NotFound", NAMED),
        (errors.AlreadyExists("deployments.apps", "w"), 409, "AlreadyExists", NAMED),
        (errors.Conflict("deployments.apps", "w"), 409, "Conflict", NAMED),
        (errors.Forbidden("deployments.apps", "w", "x"), 403, "Forbidden", NAMED),
        (
            errors.Invalid("Deployment.apps", "w", [required("spec.a")]),
            422,
            "Invalid",
            {**NAMED, "kind": "Deployment", "causes": [CAUSE]},
        ),
        (
            errors.PolicyDenied("deployments.apps", "w", "why", 422, "Invalid"),
            422,
            "Invalid",
            {**NAMED, "causes": [{"message": "why"}]},
        ),
        (
            errors.TooManyRequests("later", [("DisruptionBudget", "m")]),
            429,
            "TooManyRequests",
            {"causes": [{"reason": "DisruptionBudget", "message": "m"}]},
        ),
        (errors.TooManyRequests("later"), 429, "TooManyRequests", {}),
        (errors.InternalError("x"), 500, "InternalError", {}),
        (errors.ManifestError("x"), 400, "BadRequest", {}),
    ],
)
def test_an_error_of_the_kit(error: errors.KitError, code: int, reason: str, details: dict[str, Any]) -> None:
    """Source: apierrors.NewNotFound and its siblings."""
    assert converted(error) == (code, reason, errors.refusal(error).message, details)


def test_other_errors() -> None:
    assert converted(ValueError("x")) == (
        500,
        "InternalError",
        "Internal error occurred: x",
        {"causes": [{"message": "x"}]},
    )
    assert converted(errors.NoMatch("A", "b/v1")) == (
        404,
        "NotFound",
        "the server could not find the requested resource",
        {},
    )
    status = StatusError(418, "tea")
    assert of_error(status, "", "pods") is status


def test_details_leave_out_what_is_unknown() -> None:
    found = of_error(errors.NotFound("pods", ""), "", "pods")
    assert found.details == {"kind": "pods"}
    whole = of_error(errors.Invalid("Pod", "w", [FieldError("FieldValueForbidden", "", "", "d")]), "", "pods")
    assert whole.details == {
        "name": "w",
        "kind": "Pod",
        "causes": [{"reason": "FieldValueForbidden", "message": "Forbidden: d"}],
    }


def test_the_body_of_a_failure() -> None:
    error = StatusError(404, "m", details={"name": "w"})
    error.metadata["continue"] = "c"
    assert error.body() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {"continue": "c"},
        "status": "Failure",
        "message": "m",
        "reason": "NotFound",
        "details": {"name": "w"},
        "code": 404,
    }


@pytest.mark.parametrize(
    ("code", "given", "reason"),
    [
        (400, None, "BadRequest"),
        (410, None, "Expired"),
        (504, None, "Timeout"),
        (418, None, ""),
        (404, "X", "X"),
        (404, "", ""),
    ],
)
def test_the_reason_of_a_code(code: int, given: str | None, reason: str) -> None:
    error = StatusError(code, "m", given)
    assert error.reason == reason
    assert error.body().get("reason", "") == reason
    assert "details" not in error.body()


def test_success() -> None:
    plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    assert success() == plain
    assert success({"name": "w"}) == {**plain, "details": {"name": "w"}}
