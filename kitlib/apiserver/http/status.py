"""Status objects: the API's response instead of an object, and the conversion of the kit's errors.

Source: apimachinery pkg/api/errors (NewInvalid, NewNotFound, NewConflict, NewBadRequest, NewTooManyRequests, …),
metav1.Status.
"""

from __future__ import annotations

from typing import Any

from kitlib.api import errors

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    501: "NotImplemented",
    504: "Timeout",
}


class StatusError(Exception):
    """A response that is a Status of failure.

    Attributes:
        code: the HTTP status code.
        reason: the machine-readable reason, e.g. `NotFound`; by default that of the code; "" = none.
        message: the message for users.
        details: name, group, kind, causes.
        metadata: the Status' list metadata, e.g. the token with which a list continues.
    """

    def __init__(
        self, code: int, message: str, reason: str | None = None, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.reason = REASONS.get(code, "") if reason is None else reason
        self.details = details or {}
        self.metadata: dict[str, Any] = {}

    def body(self) -> dict[str, Any]:
        """Return the Status object."""
        made: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        made["message"] = self.message
        if self.reason:
            made["reason"] = self.reason
        if self.details:
            made["details"] = self.details
        return {**made, "code": self.code}


def success(details: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the Status of a successful request without an object to return."""
    made: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**made, "details": details} if details else made


def of_error(error: Exception, group: str, plural: str, kind: str = "", name: str = "") -> StatusError:
    """Convert an error of the cluster about an object of a resource to a Status."""
    details: dict[str, Any] = {"name": getattr(error, "name", "") or name}
    if group:
        details["group"] = group
    details["kind"] = plural
    details = {key: value for key, value in details.items() if value}
    if isinstance(error, StatusError):
        return error
    if not isinstance(error, errors.KitError):
        causes = {"causes": [{"message": str(error)}]}
        return StatusError(500, f"Internal error occurred: {error}", "InternalError", causes)
    if isinstance(error, errors.NoMatch):
        return StatusError(404, "the server could not find the requested resource", "NotFound")
    answer = errors.refusal(error)
    if isinstance(error, errors.Invalid):
        details["kind"] = kind or error.kind
        details["causes"] = [_cause(one) for one in error.errors]
    elif isinstance(error, errors.PolicyDenied):
        details["causes"] = [{"message": cause} for cause in error.causes]
    elif isinstance(error, errors.TooManyRequests):
        listed = [{"reason": reason, "message": message} for reason, message in error.causes]
        details = {"causes": listed} if listed else {}
    elif not isinstance(error, errors.NotFound | errors.AlreadyExists | errors.Conflict | errors.Forbidden):
        details = {}
    return StatusError(answer.code, answer.message, answer.reason, details)


def _cause(error: Any) -> dict[str, str]:
    made = {"reason": error.type, "message": error.body}
    return {**made, "field": error.field} if error.field else made
