"""Manifests posted to a live kube-apiserver 1.36.2: accepted or refused, with which words and warnings."""

from __future__ import annotations

import re
from typing import Any

from kitlib.api.errors import Invalid, KitError, refusal
from kitlib.api.serialize import from_dict
from kitlib.api.validation.warnings import warnings_of
from kitlib.cluster.admission.apiserver import APIServer

FILE = "live_manifests"
INPUTS = frozenset({"id", "manifest"})
_UNKNOWN_FIELD = re.compile(r'unknown field "[^"]*"')


def check(case: dict[str, Any]) -> dict[str, Any]:
    """What the API server answers to one manifest, in a cluster that has only its own namespaces."""
    api = APIServer()
    try:
        obj = from_dict(case["manifest"], strict=True)
        warned = warnings_of(obj)
        api.create(obj)
    except KitError as error:
        answer = refusal(error)
        found = {"accepted": False, "code": answer.code, "reason": answer.reason, "message": answer.message}
        if isinstance(error, Invalid):
            found["causes"] = [[cause.type, cause.field, cause.body] for cause in error.errors]
        return found
    return {"accepted": True, "code": 201} | ({"warnings": warned} if warned else {})


def compare(_case: dict[str, Any], field: str, expected: Any, found: Any) -> bool:
    """Unknown fields are named in the order of the manifest; the file's manifests have had their keys sorted."""
    if field != "message" or "unknown field" not in expected:
        return False
    parts = [(sorted(_UNKNOWN_FIELD.findall(text)), _UNKNOWN_FIELD.sub("", text)) for text in (expected, found)]
    return parts[0] == parts[1]
