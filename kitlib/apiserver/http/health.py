"""The health endpoints healthz, livez and readyz: single checks, or all of them with `?verbose`.

Source: apiserver pkg/server/healthz/healthz.go (handleRootHealth), pkg/server/healthz.go.
"""

from __future__ import annotations

from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.status import StatusError

_CHECKS = {"healthz": ("ping", "etcd"), "livez": ("ping", "etcd"), "readyz": ("ping", "etcd", "shutdown")}
"""Endpoint -> its checks; `etcd` is the store, which is in this process and thus always available."""


def health(request: Request) -> str | None:
    """Return the response text; None for another path.

    Raises:
        StatusError: 404 for an unknown check.
    """
    endpoint, _, check = request.path.strip("/").partition("/")
    if endpoint not in _CHECKS:
        return None
    if check:
        if check not in _CHECKS[endpoint]:
            raise StatusError(404, "the server could not find the requested resource", "NotFound")
        return "ok"
    if "verbose" not in request.query:
        return "ok"
    excluded = request.query.get("exclude", [])
    lines = [f"[+]{one} {'excluded: ok' if one in excluded else 'ok'}" for one in _CHECKS[endpoint]]
    unknown = sorted(set(excluded) - set(_CHECKS[endpoint]))
    if unknown:
        quoted = ", ".join(f'"{one}"' for one in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
    return "\n".join([*lines, f"{endpoint} check passed", ""])
