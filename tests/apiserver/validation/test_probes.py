"""Probes, hooks and their handlers."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.container import Lifecycle, Probe
from kitlib.api.names import HEADER_TEXT
from kitlib.apiserver.validation import probes
from tests.apiserver.validation.told import part, told

TCP = {"tcpSocket": {"port": 80}}
HTTP = {"path": "/", "port": 80, "scheme": "HTTP"}


def probe(handler: Any = TCP, **fields: Any) -> Probe:
    return part(Probe, **{"successThreshold": 1, **handler, **fields})


def negative(name: str) -> str:
    return f"p.{name} Invalid must be greater than or equal to 0"


@pytest.mark.parametrize(
    ("made", "errors"),
    [
        (probe(), []),
        (probe({}), ["p Required must specify a handler type"]),
        (probe({"exec": {"command": ["a"]}}), []),
        (probe({"exec": {}}), ["p.exec.command Required"]),
        (probe({"httpGet": HTTP}), []),
        (probe({"httpGet": {**HTTP, "path": ""}}), ["p.httpGet.path Required"]),
        (
            probe({"httpGet": {**HTTP, "scheme": "x"}}),
            ['p.httpGet.scheme NotSupported supported values: "HTTP", "HTTPS"'],
        ),
        (
            probe({"httpGet": {**HTTP, "httpHeaders": [{"name": "X-A"}, {"name": "a b"}]}}),
            [f"p.httpGet.httpHeaders Invalid {HEADER_TEXT}"],
        ),
        (probe({"tcpSocket": {"port": 0}}), ["p.tcpSocket.port Invalid must be between 1 and 65535, inclusive"]),
        (probe({"tcpSocket": {"port": "web"}}), []),
        (
            probe({"tcpSocket": {"port": "80"}}),
            ["p.tcpSocket.port Invalid must contain at least one letter (a-z)"],
        ),
        (probe({"grpc": {"port": 70000}}), ["p.grpc.port Invalid must be between 1 and 65535, inclusive"]),
        (
            probe({**TCP, "exec": {"command": ["a"]}, "grpc": {"port": 0}}),
            [
                "p.tcpSocket Forbidden may not specify more than 1 handler type",
                "p.grpc Forbidden may not specify more than 1 handler type",
            ],
        ),
        (probe(initialDelaySeconds=-1), [negative("initialDelaySeconds")]),
        (probe(timeoutSeconds=-1, periodSeconds=-1), [negative("timeoutSeconds"), negative("periodSeconds")]),
        (probe(failureThreshold=-1), [negative("failureThreshold")]),
        (probe(terminationGracePeriodSeconds=1), []),
        (
            probe(terminationGracePeriodSeconds=0),
            ["p.terminationGracePeriodSeconds Invalid must be greater than 0"],
        ),
    ],
)
def test_probes(made: Probe, errors: list[str]) -> None:
    """Source: validateProbe, validateHandler."""
    assert told(probes.validate_probe(made, 30, "p")) == errors
    assert told(probes.validate_liveness_probe(made, 30, "p")) == errors
    seconds = "p.terminationGracePeriodSeconds Invalid must not be set for readinessProbes"
    more = [seconds] if made.termination_grace_period_seconds is not None else []
    assert told(probes.validate_readiness_probe(made, 30, "p")) == [*errors, *more]


@pytest.mark.parametrize(("threshold", "valid"), [(1, True), (2, False), (0, False)])
def test_a_liveness_probe_succeeds_at_once(threshold: int, valid: bool) -> None:
    made = probe(successThreshold=threshold)
    errors = [] if valid else ["p.successThreshold Invalid must be 1"]
    assert told(probes.validate_liveness_probe(made, None, "p")) == errors
    assert told(probes.validate_readiness_probe(made, None, "p")) == []


def test_no_probe_and_no_hook() -> None:
    assert probes.validate_liveness_probe(None, 1, "p") == []
    assert probes.validate_readiness_probe(None, 1, "p") == []
    assert probes.validate_lifecycle(None, 1, "", "l") == []


@pytest.mark.parametrize(
    ("seconds", "grace", "valid"),
    [(0, 30, True), (30, 30, True), (31, 30, False), (-1, 30, False), (99, None, True), (-1, None, True)],
)
def test_a_sleep_ends_within_the_grace_period(seconds: int, grace: int | None, valid: bool) -> None:
    """Source: validateSleepAction."""
    hook = part(Lifecycle, preStop={"sleep": {"seconds": seconds}})
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    errors = [] if valid else [f"l.preStop.sleep Invalid {detail}"]
    assert told(probes.validate_lifecycle(hook, grace, "", "l")) == errors


def test_hooks() -> None:
    hooks = part(Lifecycle, postStart={}, preStop={"exec": {}})
    assert told(probes.validate_lifecycle(hooks, 30, "", "l")) == [
        "l.postStart Required must specify a handler type",
        "l.preStop.exec.command Required",
    ]


@pytest.mark.parametrize(
    ("signal", "os", "valid"),
    [
        ("SIGTERM", "linux", True),
        ("SIGUSR1", "linux", True),
        ("SIGRTMIN+15", "linux", True),
        ("SIGRTMIN+16", "linux", False),
        ("SIGRTMAX-14", "linux", True),
        ("SIGRTMAX-15", "linux", False),
        ("SIGFOO", "linux", False),
        ("SIGKILL", "windows", True),
        ("SIGUSR1", "windows", False),
    ],
)
def test_stop_signals(signal: str, os: str, valid: bool) -> None:
    """Source: validateStopSignal."""
    found = probes.validate_lifecycle(part(Lifecycle, stopSignal=signal), 30, os, "l")
    assert [(error.field, error.type) for error in found] == (
        [] if valid else [("l.stopSignal", "FieldValueNotSupported")]
    )
    without = probes.validate_lifecycle(part(Lifecycle, stopSignal=signal), 30, "", "l")
    assert told(without) == ["l.stopSignal Forbidden may not be set for containers with empty `spec.os.name`"]
