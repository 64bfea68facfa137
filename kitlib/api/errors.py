"""Everything that the kit raises for its user, below one base class, so that a caller can catch it all at once.

A message names the object, the field's path, the value and the rule, in Kubernetes' own words where it has some.

Source: k8s.io/apimachinery/pkg/api/errors (NewInvalid, NewNotFound, NewAlreadyExists, NewConflict).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

MAX_MESSAGE = 10_000
"""Characters of a message; a name of a megabyte stands in it with its beginning and its end."""


class KitError(Exception):
    """Base of the errors that tell a user what to change; anything else that is raised is a defect of the kit.

    Attributes:
        code, reason: of the Status that the API server answers.
    """

    code, reason = 400, "BadRequest"

    def __init__(self, *args: object) -> None:
        super().__init__(*(shortened(one) if isinstance(one, str) else one for one in args))


class APIError(KitError):
    """What the API server answers instead of doing what it was asked for.

    A notebook shows it as kubectl would, without a traceback: the cause is in the manifest, not in Python.
    """

    def _render_traceback_(self) -> list[str]:
        """Source: IPython's hook for exceptions that show themselves."""
        return [as_kubectl_prints(self), *getattr(self, "__notes__", ())]


def shortened(text: str, limit: int = MAX_MESSAGE) -> str:
    """A text with its middle left out where it is longer than `limit`."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]} … ({len(text)} characters) … {text[-limit // 4 :]}"


class ManifestError(APIError, ValueError):
    """A manifest that cannot be read as a Kubernetes object.

    Attributes:
        file: where it came from; "" for text given directly.
        document: number of the document in the file, from 1; 0 = the file as a whole.
        field: path of the field, `spec.containers[0].resources.limits[cpu]`; "" = the document as a whole.
        problem: what is wrong.
        cause: the decoder's words alone, where the fields do not fit the kind; "" otherwise.
        excerpt: the lines around the place, with a caret below it, where the text is not YAML; "" otherwise.
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
    """An object that the API server would refuse: `Deployment.apps "web" is invalid: spec.replicas: Invalid value: …`.

    Attributes:
        kind: of the object, with its group: `Pod`, `Deployment.apps`.
        name: of the object.
        errors: the field errors (`kitlib.apiserver.validation.FieldError`), in the order in which they were found.
    """

    code, reason = 422, "Invalid"

    def __init__(self, kind: str, name: str, errors: Sequence[Any]) -> None:
        self.kind, self.name, self.errors = kind, name, list(errors)
        texts = list(dict.fromkeys(str(error) for error in self.errors))  # Source: field.ErrorList.ToAggregate
        listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        super().__init__(f'{kind} "{name}" is invalid: {listed}')


class NotFound(APIError, LookupError):
    """There is no such object: `pods "web" not found`."""

    code, reason = 404, "NotFound"

    def __init__(self, resource: str, name: str) -> None:
        self.resource, self.name = resource, name
        super().__init__(f'{resource} "{name}" not found')


class AlreadyExists(APIError):
    """An object of this name is there already: `pods "web" already exists`."""

    code, reason = 409, "AlreadyExists"

    def __init__(self, resource: str, name: str) -> None:
        self.resource, self.name = resource, name
        super().__init__(f'{resource} "{name}" already exists')


class Conflict(APIError):
    """The object was changed by another writer since it was read."""

    code, reason = 409, "Conflict"

    def __init__(self, resource: str, name: str, detail: str = "") -> None:
        self.resource, self.name = resource, name
        why = detail or "the object has been modified; please apply your changes to the latest version and try again"
        super().__init__(f'Operation cannot be fulfilled on {resource} "{name}": {why}')


class Forbidden(APIError):
    """Admission said no: `pods "web" is forbidden: exceeded quota: team, …`."""

    code, reason = 403, "Forbidden"

    def __init__(self, resource: str, name: str, why: str) -> None:
        self.resource, self.name, self.why = resource, name, why
        super().__init__(f'{resource} "{name}" is forbidden: {why}')


class MethodNotAllowed(APIError):
    """A resource that does not take this verb now: objects of a definition that is being deleted are not created."""

    code, reason = 405, "MethodNotAllowed"


class PolicyDenied(Forbidden):
    """An admission policy said no, with a reason of its own.

    Attributes:
        code, reason: of the Status: 422 and Invalid, unless the policy says otherwise.
        causes: of the Status.
    """

    def __init__(self, resource: str, name: str, why: str, code: int, reason: str) -> None:
        super().__init__(resource, name, why)
        self.code, self.reason, self.causes = code, reason, [why]


class MutationDenied(PolicyDenied):
    """Mutating admission policies could not be carried out.

    Args:
        resource, name: of the object.
        causes: one message for each problem; the first is that of the Status.
        reason: `Invalid`, or `Forbidden` where a policy is not configured; the code is 403 in any case.

    Source: policy_dispatcher.go Dispatch.
    """

    def __init__(self, resource: str, name: str, causes: Sequence[str], reason: str) -> None:
        super().__init__(resource, name, causes[0], Forbidden.code, reason)
        self.causes = list(causes)
        self.args = (shortened(causes[0]),)


class TooManyRequests(APIError):
    """The API server cannot do it now, with status 429; for evictions `causes` says which budget refuses it.

    Attributes:
        causes: type and message of each cause.
    """

    code, reason = 429, "TooManyRequests"

    def __init__(self, message: str, causes: Sequence[tuple[str, str]] = ()) -> None:
        self.causes = list(causes)
        super().__init__(message)
        for _, cause in causes:
            self.add_note(cause)


class InternalError(APIError):
    """The API server cannot do it at all, with status 500."""

    code, reason = 500, "InternalError"


class RequestTooLarge(APIError):
    """The store takes no object of this size; the API server answers so without a reason, with status 500."""

    code, reason = 500, ""


class Refusal(NamedTuple):
    """What the API server answers to a request that it refuses.

    Attributes:
        code: of HTTP; 0 = the client finds the problem itself and asks nothing.
        reason: `NotFound`.
        message: without the place in a file where the object stands.
    """

    code: int
    reason: str
    message: str


def refusal(error: KitError) -> Refusal:
    """An error as the API server answers it."""
    message = error.problem if isinstance(error, ManifestError) else str(error)
    return Refusal(error.code, error.reason, message)


def _listed(causes: Sequence[str]) -> str:
    """Source: MultilineError."""
    return causes[0] if len(causes) == 1 else "".join(f"\n* {cause}" for cause in causes)


def as_kubectl_prints(error: KitError) -> str:
    """An error as kubectl prints it: `Error from server (NotFound): …`, `The Pod "web" is invalid: …`.

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
