"""Everything that the kit raises for its user, below one base class, so that a caller can catch it all at once.

A message names the object, the field's path, the value and the rule, in Kubernetes' own words where it has some.

Source: k8s.io/apimachinery/pkg/api/errors (NewInvalid, NewNotFound, NewAlreadyExists, NewConflict).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MAX_MESSAGE = 10_000
"""Characters of a message; a name of a megabyte stands in it with its beginning and its end."""


class KitError(Exception):
    """Base of the errors that tell a user what to change; anything else that is raised is a defect of the kit."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(shortened(one) if isinstance(one, str) else one for one in args))


def shortened(text: str, limit: int = MAX_MESSAGE) -> str:
    """A text with its middle left out where it is longer than `limit`."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]} … ({len(text)} characters) … {text[-limit // 4 :]}"


class ManifestError(KitError, ValueError):
    """A manifest that cannot be read as a Kubernetes object.

    Attributes:
        file: where it came from; "" for text given directly.
        document: number of the document in the file, from 1; 0 = the file as a whole.
        field: path of the field, `spec.containers[0].resources.limits[cpu]`; "" = the document as a whole.
        problem: what is wrong.
    """

    def __init__(self, problem: str, *, file: str = "", document: int = 0, field: str = "") -> None:
        self.problem, self.file, self.document, self.field = problem, file, document, field
        place = [file] if file else []
        if document:
            place.append(f"document {document}")
        if field:
            place.append(field)
        super().__init__(f"{', '.join(place)}: {problem}" if place else problem)


class Invalid(KitError, ValueError):
    """An object that the API server would refuse: `Pod "web" is invalid: spec.containers: Required value`.

    Attributes:
        kind, name: of the object.
        errors: the field errors (`kitlib.api.validation.FieldError`), in the order in which they were found.
    """

    def __init__(self, kind: str, name: str, errors: Sequence[Any]) -> None:
        self.kind, self.name, self.errors = kind, name, list(errors)
        texts = [str(error) for error in self.errors]
        listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        super().__init__(f'{kind} "{name}" is invalid: {listed}')


class NotFound(KitError, LookupError):
    """There is no such object: `pods "web" not found`."""

    def __init__(self, resource: str, name: str) -> None:
        self.resource, self.name = resource, name
        super().__init__(f'{resource} "{name}" not found')


class AlreadyExists(KitError):
    """An object of this name is there already: `pods "web" already exists`."""

    def __init__(self, resource: str, name: str) -> None:
        self.resource, self.name = resource, name
        super().__init__(f'{resource} "{name}" already exists')


class Conflict(KitError):
    """The object was changed by somebody else since it was read."""

    def __init__(self, resource: str, name: str, detail: str = "") -> None:
        self.resource, self.name = resource, name
        why = detail or "the object has been modified; please apply your changes to the latest version and try again"
        super().__init__(f'Operation cannot be fulfilled on {resource} "{name}": {why}')


class Forbidden(KitError):
    """Admission said no: `pods "web" is forbidden: exceeded quota: team, …`."""

    def __init__(self, resource: str, name: str, why: str) -> None:
        self.resource, self.name, self.why = resource, name, why
        super().__init__(f'{resource} "{name}" is forbidden: {why}')


class TooManyRequests(KitError):
    """The API server cannot do it now, with status 429; for evictions `causes` says which budget refuses it.

    Attributes:
        causes: type and message of each cause.
    """

    def __init__(self, message: str, causes: Sequence[tuple[str, str]] = ()) -> None:
        self.causes = list(causes)
        super().__init__(message)
        for _, cause in causes:
            self.add_note(cause)


class InternalError(KitError):
    """The API server cannot do it at all, with status 500."""
