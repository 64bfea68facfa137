"""The options of a deletion or an eviction. Source: metav1.DeleteOptions."""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.http.request import mapping
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.status import StatusError


def check_preconditions(served: APIResource, live: dict[str, Any], options: dict[str, Any]) -> None:
    """Check that the object has the UID and version of the preconditions.

    Raises:
        StatusError: 409.
    """
    for field, field_name in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted = mapping(options, "preconditions").get(field)
        if wanted and wanted != live["metadata"].get(field):
            why = f"Precondition failed: {field_name} in precondition: {wanted}, {field_name} in object meta: "
            why += str(live["metadata"].get(field))
            raise StatusError(
                409,
                f'Operation cannot be fulfilled on {served.qualified} "{live["metadata"]["name"]}": {why}',
                "Conflict",
            )


def grace_of(given: Any) -> int | None:
    """Return the grace period of DeleteOptions in seconds; a negative one is one second. Source: rest.BeforeDelete."""
    if not isinstance(given, int) or isinstance(given, bool):
        return None
    return given if given >= 0 else 1
