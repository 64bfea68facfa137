"""The text of `kubectl describe pod`, without events, of pods that a real API server held."""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.http.printers.text import parse_time
from kitlib.views.describe_pod import describe_pod

FILE = "live_describe"
RELEASE = "1.36"
INPUTS = frozenset({"resource", "object", "now"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """The lines of the text: it is kubectl that makes it, from the object alone."""
    now = parse_time(case["now"])
    assert now is not None
    return {"describe": describe_pod(case["object"], [], now).splitlines()}


def reduce(name: str, value: Any) -> Any:
    """A text as its lines, so that a difference names the line; kubectl ends it with an empty one."""
    lines = value.splitlines() if name == "describe" and isinstance(value, str) else value
    return lines[:-1] if isinstance(lines, list) and lines and not lines[-1] else lines
