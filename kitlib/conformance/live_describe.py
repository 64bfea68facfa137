"""The output of `kubectl describe pod`, without events, for pods that were stored by a real API server."""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.http.printers.text import parse_time
from kitlib.views.describe.pod import describe_pod

FILE = "live_describe"
RELEASE = "1.36"
INPUTS = frozenset({"resource", "object", "now"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return the lines of the output, which kubectl computes from the object alone."""
    now = parse_time(case["now"])
    assert now is not None
    return {"describe": describe_pod(case["object"], [], now).splitlines()}


def reduce(name: str, value: Any) -> Any:
    """Return an output as a list of lines, without kubectl's trailing empty line.

    A difference then names the line.
    """
    lines = value.splitlines() if name == "describe" and isinstance(value, str) else value
    return lines[:-1] if isinstance(lines, list) and lines and not lines[-1] else lines
