"""Manifests posted to a live kube-apiserver 1.36.2: status code, error message, causes and warnings."""

from __future__ import annotations

import json
import re
from typing import Any

from kitlib.api.errors import Invalid, KitError, refusal
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.names import SUFFIX_ALPHABET
from kitlib.apiserver.validation.warnings.kinds import warning_header, warnings_of

FILE = "live_manifests"
RELEASE = "1.36"
INPUTS = frozenset({"id", "manifest"})
_UNKNOWN_FIELD = re.compile(r'unknown field \\"[^"]*"')
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return the API server's response to one manifest, in a cluster with only the initial namespaces."""
    api = APIServer()
    try:
        obj = from_dict(case["manifest"], strict=True)
        warned = [warning_header(text) for text in warnings_of(obj)]
        api.create(obj)
    except KitError as error:
        answer = refusal(error)
        found = {"accepted": False, "code": answer.code, "reason": answer.reason, "message": answer.message}
        if isinstance(error, Invalid):
            found["causes"] = [[cause.type, cause.field, cause.body] for cause in error.errors]
        return found
    return {"accepted": True, "code": 201} | ({"warnings": warned} if warned else {})


def compare(case: dict[str, Any], field: str, expected: Any, found: Any) -> bool:
    """Compare messages apart from generated names, UIDs and the order of unknown fields.

    The server names unknown fields in the order of the manifest, but the file's manifests have sorted keys.
    """
    if field not in ("message", "causes"):
        return False
    prefix = case["manifest"].get("metadata", {}).get("generateName")
    left, right = (_without_chance(json.dumps(value), prefix) for value in (expected, found))
    if field == "message" and "unknown field" in left:
        listed = [sorted(_UNKNOWN_FIELD.findall(text)) for text in (left, right)]
        return listed[0] == listed[1] and _UNKNOWN_FIELD.sub("", left) == _UNKNOWN_FIELD.sub("", right)
    return left == right


def _without_chance(text: str, prefix: Any) -> str:
    text = _UID.sub("UID", text)
    return re.sub(re.escape(prefix) + f"[{SUFFIX_ALPHABET}]{{5}}", prefix, text) if isinstance(prefix, str) else text
