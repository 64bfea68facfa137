"""The options of a deletion or an eviction. Source: metav1.DeleteOptions."""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.admission.deletion import BACKGROUND
from kitlib.apiserver.http.bodies import object_body
from kitlib.apiserver.http.request import Request, mapping
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.status import StatusError

_POLICIES = ("Foreground", BACKGROUND, "Orphan")
_TYPE = ("apiVersion", "kind")


def options_of(request: Request) -> dict[str, Any]:
    """Return the fields of a deletion's DeleteOptions: those of the body, or without a body those of the query.

    Raises:
        StatusError: 422 for an invalid option, 400 for an undecodable one.

    Source: handlers DeleteResource, DeleteCollection; validation.ValidateDeleteOptions.
    """
    options = mapping(object_body(request)) if request.body else _of_query(request)
    options = {name: value for name, value in options.items() if value is not None and name not in _TYPE}
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if policy is not None and orphan is not None:
        why = f'Invalid value: "{str(policy)[:40]}": orphanDependents and deletionPropagation cannot be both set'
        raise _invalid(f"propagationPolicy: {why}")
    if policy is not None and policy not in _POLICIES:
        known = ", ".join(f'"{one}"' for one in (*_POLICIES, "nil"))
        raise _invalid(f'propagationPolicy: Unsupported value: "{str(policy)[:40]}": supported values: {known}')
    if options.get("dryRun") not in (None, [], ["All"]):
        raise _invalid(f'dryRun: Unsupported value: {str(options["dryRun"])[:80]}: supported values: "All"')
    return options


def _of_query(request: Request) -> dict[str, Any]:
    """Return the options in the query. Source: metav1 Convert_url_Values_To_v1_DeleteOptions."""
    options: dict[str, Any] = {"gracePeriodSeconds": request.number("gracePeriodSeconds")}
    if request.query.get("propagationPolicy"):
        options["propagationPolicy"] = request.get("propagationPolicy")
    if request.query.get("orphanDependents"):
        options["orphanDependents"] = request.get("orphanDependents").lower() not in ("0", "false")
    if request.dry_run:
        options["dryRun"] = ["All"]
    return options


def propagation_of(options: dict[str, Any]) -> str:
    """Return the propagation policy of DeleteOptions; "" = the default. Source: shouldOrphanDependents."""
    if options.get("orphanDependents") is not None:
        return "Orphan" if options["orphanDependents"] else BACKGROUND
    return str(options.get("propagationPolicy") or "")


def _invalid(why: str) -> StatusError:
    return StatusError(422, f'DeleteOptions.meta.k8s.io "" is invalid: {why}', "Invalid")


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
