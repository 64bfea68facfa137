"""Pods for the checks of Pod Security, and their answers as text."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.podsecurity.violations import Check


def pod(
    *contexts: dict[str, Any] | None, annotations: dict[str, str] | None = None, init: Any = None, **spec: Any
) -> Pod:
    """A pod with a container `a`, `b`, … for each security context, and an init container `i` for the one of `init`."""
    containers = [{"name": name, "securityContext": context} for name, context in zip("abcd", contexts, strict=False)]
    first = [] if init is None else [{"name": "i", "securityContext": init}]
    data = {"metadata": {"name": "p", "annotations": annotations or {}}}
    return from_dict({**data, "spec": {"initContainers": first, "containers": containers, **spec}}, Pod)


def answer(check: Check, made: Pod) -> str:
    """Return the violation as text; "" for none."""
    found = check(made.metadata, made.spec)
    return "" if found is None else str(found)


def at(checks: dict[str, tuple[tuple[int, Check], ...]], name: str, minor: int) -> Check:
    """Return the check of a policy version."""
    return [check for first, check in checks[name] if first <= minor][-1]
