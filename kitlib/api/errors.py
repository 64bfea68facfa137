"""The errors that the kit raises for its user, with one base class, so that a caller can catch all of them.

A message names the object, the field's path, the value and the rule, in Kubernetes' own words where they exist.

Source: k8s.io/apimachinery/pkg/api/errors (NewInvalid, NewNotFound, NewAlreadyExists, NewConflict).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

MAX_MESSAGE = 10_000
"""The maximum length of a message in characters; longer names are shortened in the middle."""


class KitError(Exception):
    """The base of errors that tell a user what to change; any other exception is a defect of the kit.

    Attributes:
        code, reason: code and reason of the API server's Status.
    """

    code, reason = 400, "BadRequest"

    def __init__(self, *args: object) -> None:
        super().__init__(*(shortened(one) if isinstance(one, str) else one for one in args))


class APIError(KitError):
    """An error response of the API server.

    A notebook shows it as kubectl does, without a traceback: the cause is in the manifest, not in Python.
    """

    def _render_traceback_(self) -> list[str]:
        """Source: IPython's hook for exceptions that render themselves."""
        return [as_kubectl_prints(self), *getattr(self, "__notes__", ())]


def shortened(text: str, limit: int = MAX_MESSAGE) -> str:
    """Return a text, with its middle replaced by its length where it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]} … ({len(text)} characters) … {text[-limit // 4 :]}"


class ManifestError(APIError, ValueError):
    """A manifest that cannot be read as a Kubernetes object.

    Attributes:
        file: the file's name; "" for text given directly.
        document: the number of the document in the file, from 1; 0 = the file as a whole.
        field: path of the field, `spec.containers[0].resources.limits[cpu]`; "" = the document as a whole.
        problem: the message without its position.
        cause: the decoder's words alone, for a document whose fields do not fit its kind; "" otherwise.
        excerpt: the lines around the error with a caret below it, for text that is not YAML; "" otherwise.
    """

    def __init__(self, problem: str, *, file: str = "", document: int = 0, field: str = "") -> None:
        self.problem, self.file, self.document, self.field = problem, file, document, field
        self.cause = self.excerpt = ""
        place = [file] if file else []
        if document:
            place.append(f"document {document}")
        if field:
            place.append(field)
        super().__init__(f"{', '.join(place)}: {problem}" if place else problem)


class NoMatch(APIError, LookupError):
    """A kind that the server does not have: `no matches for kind "Foo" in version "example.com/v1"`."""

    code, reason = 0, "NoMatch"

    def __init__(self, kind: str, api_version: str) -> None:
        self.kind, self.api_version = kind, api_version
        super().__init__(f'no matches for kind "{kind}" in version "{api_version}"')


class Invalid(APIError, ValueError):
    """An object that fails validation: `Deployment.apps "web" is invalid: spec.replicas: Invalid value: …`.

    Attributes:
        kind: the object's kind with its group: `Pod`, `Deployment.apps`.
        name: the object's name.
        errors: the field errors (`kitlib.apiserver.validation.FieldError`), in the order of the checks.
    """

    code, reason = 422, "Invalid"

    def __init__(self, kind: str, name: str, errors: Sequence[Any]) -> None:
        self.kind, self.name, self.errors = kind, name, list(errors)
        texts = list(dict.fromkeys(str(error) for error in self.errors))  # Source: field.ErrorList.ToAggregate
        listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        super().__init__(f'{kind} "{name}" is invalid: {listed}')


class NotFound(APIError, LookupError):
    """An object that does not exist: `pods "web" not found`."""

    code, reason = 404, "NotFound"

    def __init__(self, resource: str, name: str) -> None:
        self.resource, self.name = resource, name
        super().__init__(f'{resource} "{name}" not found')


class AlreadyExists(APIError):
    """An object whose name is already in use: `pods "web" already exists`."""

    code, reason = 409, "AlreadyExists"

    def __init__(self, resource: str, name: str) -> None:
        self.resource, self.name = resource, name
        super().__init__(f'{resource} "{name}" already exists')


class Conflict(APIError):
    """An update of an object that another writer has changed since it was read."""

    code, reason = 409, "Conflict"

    def __init__(self, resource: str, name: str, detail: str = "") -> None:
        self.resource, self.name = resource, name
        why = detail or "the object has been modified; please apply your changes to the latest version and try again"
        super().__init__(f'Operation cannot be fulfilled on {resource} "{name}": {why}')


class Forbidden(APIError):
    """A request that admission rejects: `pods "web" is forbidden: exceeded quota: team, …`."""

    code, reason = 403, "Forbidden"

    def __init__(self, resource: str, name: str, why: str) -> None:
        self.resource, self.name, self.why = resource, name, why
        super().__init__(f'{resource} "{name}" is forbidden: {why}')


class MethodNotAllowed(APIError):
    """A verb that a resource does not support now: no object is created of a definition that is being deleted."""

    code, reason = 405, "MethodNotAllowed"


class PolicyDenied(Forbidden):
    """A request that an admission policy denies, with the policy's reason.

    Attributes:
        code, reason: code and reason of the Status: 422 and Invalid, unless the policy sets others.
        causes: the causes of the Status.
    """

    def __init__(self, resource: str, name: str, why: str, code: int, reason: str) -> None:
        super().__init__(resource, name, why)
        self.code, self.reason, self.causes = code, reason, [why]


class MutationDenied(PolicyDenied):
    """Mutating admission policies that could not be applied.

    Args:
        resource, name: the resource and the name of the object.
        causes: one message per problem; the first one is the message of the Status.
        reason: `Invalid`, or `Forbidden` where a policy is not configured; the code is 403 in any case.

    Source: policy_dispatcher.go Dispatch.
    """

    def __init__(self, resource: str, name: str, causes: Sequence[str], reason: str) -> None:
        super().__init__(resource, name, causes[0], Forbidden.code, reason)
        self.causes = list(causes)
        self.args = (shortened(causes[0]),)


class TooManyRequests(APIError):
    """A request that the API server cannot serve now (429); for an eviction `causes` names the disruption budget.

    Attributes:
        causes: the type and the message of each cause.
    """

    code, reason = 429, "TooManyRequests"

    def __init__(self, message: str, causes: Sequence[tuple[str, str]] = ()) -> None:
        self.causes = list(causes)
        super().__init__(message)
        for _, cause in causes:
            self.add_note(cause)


class InternalError(APIError):
    """A request that fails in the API server, with status 500."""

    code, reason = 500, "InternalError"


class RequestTooLarge(APIError):
    """An object that is too large for the store; the API server answers with status 500 and no reason."""

    code, reason = 500, ""


class Refusal(NamedTuple):
    """The answer of the API server to a request that it rejects.

    Attributes:
        code: the HTTP status; 0 = the client finds the problem itself and sends no request.
        reason: the reason of the Status, `NotFound`.
        message: the message, without the position of the object in a file.
    """

    code: int
    reason: str
    message: str


def refusal(error: KitError) -> Refusal:
    """Return the API server's answer for an error."""
    message = error.problem if isinstance(error, ManifestError) else str(error)
    return Refusal(error.code, error.reason, message)


def _listed(causes: Sequence[str]) -> str:
    """Source: MultilineError."""
    return causes[0] if len(causes) == 1 else "".join(f"\n* {cause}" for cause in causes)


def as_kubectl_prints(error: KitError) -> str:
    """Return an error as kubectl prints it: `Error from server (NotFound): …`, `The Pod "web" is invalid: …`.

    Source: kubectl pkg/cmd/util StandardErrorMessage, MultilineError.
    """
    if isinstance(error, Invalid):
        causes = list(dict.fromkeys(str(one) for one in error.errors))
        text = f'The {error.kind.partition(".")[0]} "{error.name}" is invalid: '
        return text + _listed(causes)
    if isinstance(error, PolicyDenied) and error.reason == Invalid.reason:
        causes = [f": {one}" for one in dict.fromkeys(error.causes)]
        return f'The {error.resource.partition(".")[0]} "{error.name}" is invalid: {_listed(causes)}'
    if isinstance(error, NoMatch):
        return f"error: resource mapping not found: {error}"
    return f"Error from server ({error.reason}): {refusal(error).message}"
