"""Validation of probes, lifecycle hooks, and their handlers.

Source: pkg/apis/core/validation validateProbe, validateLivenessProbe, validateLifecycle, validateHandler.
"""

from __future__ import annotations

from kitlib.api.container import ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler, Probe, SleepAction
from kitlib.api.field_errors import (
    Errors,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    validate_nonnegative_field,
)
from kitlib.api.names import is_http_header_name, is_valid_port_name, is_valid_port_num

SCHEMES = ("HTTP", "HTTPS")
_ONE_HANDLER = "may not specify more than 1 handler type"
_SIGNALS = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT RTMAX RTMIN SEGV STKFLT STOP SYS "
    "TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ"
)
LINUX_SIGNALS = tuple(
    sorted(
        [f"SIG{name}" for name in _SIGNALS.split()]
        + [f"SIGRTMIN+{i}" for i in range(1, 16)]
        + [f"SIGRTMAX-{i}" for i in range(1, 15)]
    )
)
WINDOWS_SIGNALS = ("SIGKILL", "SIGTERM")


def validate_liveness_probe(probe: Probe | None, grace: int | None, field: str) -> Errors:
    """Check a liveness or startup probe, whose successThreshold is 1.

    Source: validateLivenessProbe, validateStartupProbe.
    """
    if probe is None:
        return []
    found = validate_probe(probe, grace, field)
    if probe.success_threshold != 1:
        found.append(invalid(f"{field}.successThreshold", probe.success_threshold, "must be 1"))
    return found


def validate_readiness_probe(probe: Probe | None, grace: int | None, field: str) -> Errors:
    """Source: validateReadinessProbe."""
    if probe is None:
        return []
    found = validate_probe(probe, grace, field)
    if probe.termination_grace_period_seconds is not None:
        value = probe.termination_grace_period_seconds
        found.append(invalid(f"{field}.terminationGracePeriodSeconds", value, "must not be set for readinessProbes"))
    return found


def validate_probe(probe: Probe, grace: int | None, field: str) -> Errors:
    """Source: validateProbe."""
    found = validate_handler(probe, grace, field)
    for name, value in (
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ):
        found += validate_nonnegative_field(value, f"{field}.{name}")
    seconds = probe.termination_grace_period_seconds
    if seconds is not None and seconds <= 0:
        found.append(invalid(f"{field}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    return found


def validate_lifecycle(lifecycle: Lifecycle | None, grace: int | None, os: str, field: str) -> Errors:
    """Source: validateLifecycle, validateStopSignal."""
    if lifecycle is None:
        return []
    found: Errors = []
    for name, handler in (("postStart", lifecycle.post_start), ("preStop", lifecycle.pre_stop)):
        if handler is not None:
            found += validate_handler(handler, grace, f"{field}.{name}")
    if lifecycle.stop_signal is not None:
        found += _validate_stop_signal(lifecycle.stop_signal, os, f"{field}.stopSignal")
    return found


def _validate_stop_signal(signal: str, os: str, field: str) -> Errors:
    if not os:
        return [forbidden(field, "may not be set for containers with empty `spec.os.name`")]
    supported = WINDOWS_SIGNALS if os == "windows" else LINUX_SIGNALS
    return [] if signal in supported else [not_supported(field, signal, supported)]


def validate_handler(handler: Probe | LifecycleHandler, grace: int | None, field: str) -> Errors:
    """Check that there is exactly one handler. Source: validateHandler."""
    found: Errors = []
    seen = False
    grpc = handler.grpc if isinstance(handler, Probe) else None
    sleep = handler.sleep if isinstance(handler, LifecycleHandler) else None
    for name, action in (
        ("exec", handler.exec),
        ("httpGet", handler.http_get),
        ("tcpSocket", handler.tcp_socket),
        ("grpc", grpc),
        ("sleep", sleep),
    ):
        if action is None:
            continue
        place = f"{field}.{name}"
        if seen:
            found.append(forbidden(place, _ONE_HANDLER))
            continue
        seen = True
        if isinstance(action, ExecAction):
            found += [] if action.command else [required(f"{place}.command")]
        elif isinstance(action, HTTPGetAction):
            found += validate_http_get_action(action, place)
        elif isinstance(action, SleepAction):
            found += validate_sleep_action(action, grace, place)
        else:
            found += validate_port_num_or_name(action.port, f"{place}.port")
    return found if seen else [*found, required(field, "must specify a handler type")]


def validate_http_get_action(action: HTTPGetAction, field: str) -> Errors:
    """Source: validateHTTPGetAction."""
    found = [] if action.path else [required(f"{field}.path")]
    found += validate_port_num_or_name(action.port, f"{field}.port")
    if action.scheme not in SCHEMES:
        found.append(not_supported(f"{field}.scheme", action.scheme, SCHEMES))
    for header in action.http_headers:
        found += each(f"{field}.httpHeaders", header.name, is_http_header_name(header.name))
    return found


def validate_port_num_or_name(port: int | str, field: str) -> Errors:
    """Source: ValidatePortNumOrName."""
    return each(field, port, is_valid_port_num(port) if isinstance(port, int) else is_valid_port_name(port))


def validate_sleep_action(action: SleepAction, grace: int | None, field: str) -> Errors:
    """Source: validateSleepAction."""
    if grace is not None and not 0 <= action.seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        return [invalid(field, action.seconds, detail)]
    return []
