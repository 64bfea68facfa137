"""Cases of the API server's validation of pods: creation, updates, and the Priority admission plugin."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import Forbidden, ManifestError
from kitlib.api.pod_strategy import prepare_for_create
from kitlib.api.policy import PriorityClass
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.priority import admit_priority
from kitlib.apiserver.validation import FieldError, validate_pod_create
from kitlib.apiserver.validation.pod_update import validate_pod_update

FILE = "validation"
RELEASE = "1.36"
INPUTS = frozenset({"kind", "note", "pod", "old", "new", "priorityClasses"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return the API server's answer."""
    if case["kind"] == "priorityAdmission":
        return _priority(case)
    if case["kind"] == "update":
        new, old = (set_defaults(from_dict(case[which], Pod)) for which in ("new", "old"))
        return {"errors": _listed(validate_pod_update(new, old))}
    try:
        pod = prepare_for_create(set_defaults(from_dict(case["pod"], Pod)))
    except ManifestError as error:
        return {"decodeError": error.cause or error.problem}
    errors = _listed(validate_pod_create(pod))
    found: dict[str, Any] = {"errors": errors}
    if len(errors) == 1:
        found["message"] = f'Pod "{pod.metadata.name}" is invalid: {errors[0]["error"]}'
    return found


def compare(_case: dict[str, Any], name: str, expected: Any, found: Any) -> bool:
    """Compare errors; the recorded text of an error that ends with a diff is truncated before the diff."""
    if name != "errors" or len(expected) != len(found):
        return False
    return all(
        (wanted["type"], wanted["field"]) == (got["type"], got["field"])
        and (got["error"].startswith(wanted["error"]) if wanted.get("truncated") else got["error"] == wanted["error"])
        for wanted, got in zip(expected, found, strict=True)
    )


def _listed(errors: list[FieldError]) -> list[dict[str, str]]:
    made = [{"type": e.type, "field": e.field, "error": str(e)} for e in errors]
    return sorted(made, key=lambda one: one["error"])


def _priority(case: dict[str, Any]) -> dict[str, Any]:
    classes = [from_dict(one, PriorityClass) for one in case["priorityClasses"]]
    try:
        pod = admit_priority(from_dict(case["pod"], Pod), classes)
    except Forbidden as error:
        return {"error": str(error)}
    found = {
        "priority": pod.spec.priority,
        "priorityClassName": pod.spec.priority_class_name,
        "preemptionPolicy": pod.spec.preemption_policy,
    }
    return {name: value for name, value in found.items() if name in case or value not in ("", None)}
