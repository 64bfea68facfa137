"""The declared answers of containers to their probes, and the messages of failing answers.

The annotation `kitlib.dev/readiness.<container>` (`liveness`, `startup`) holds phases that begin with the container's
start: `20s fail; 30s ok; fail`. The last phase continues without end. The annotation may change while the container
runs: `kubectl annotate --overwrite pod web kitlib.dev/readiness.web=fail` makes it unready. `timeout` is an answer
after the probe's timeout.

Source of the texts: pkg/probe (http.DoHTTPProbe, tcp.DoTCPProbe, grpc, exec).
"""

from __future__ import annotations

from typing import Literal

from kitlib.api.core import Container, Pod, Probe
from kitlib.api.errors import KitError, shortened
from kitlib.api.go_durations import go_string
from kitlib.kubelet.prober.worker import Answer, ProbeType, probes_of
from kitlib.node.common.workload import FOREVER, parse_seconds

Declared = Literal["ok", "fail", "timeout"]
PREFIX = "kitlib.dev/"
_EXCEEDED = "context deadline exceeded"
_STATUSES = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
"""Statuses of a service by number. Source: grpc.health.v1.HealthCheckResponse.ServingStatus."""
_CODES = (
    *("OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists"),
    *("PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented"),
    *("Internal", "Unavailable", "DataLoss", "Unauthenticated"),
)
"""Codes of a call by number. Source: google.golang.org/grpc/codes."""
_DEADLINE_EXCEEDED, _UNIMPLEMENTED = "4", "12"
_WORDS: dict[str, Declared] = {"ok": "ok", "fail": "fail", "timeout": "timeout"}


class ProbeAnswerError(KitError, ValueError):
    """An error in declared answers."""


def answer_at(text: str, seconds: float, where: str = "probe") -> Declared:
    """Return the declared answer at a time since the container's start.

    Args:
        text: the annotation's value.
        seconds: time since the container's start in seconds.
        where: name of the annotation, for errors.

    Raises:
        ProbeAnswerError: the annotation is invalid; the error names the word.
    """
    found: Declared | None = None
    begins = 0.0
    for part in text.split(";"):
        length, said = FOREVER, None
        for word in part.split():
            if word in _WORDS and said is None:
                said = _WORDS[word]
                continue
            try:
                length = parse_seconds(word)
            except ValueError:
                length = -1.0
            if not 0 <= length <= FOREVER:
                raise ProbeAnswerError(
                    f"{where}: Invalid value: {shortened(word, 100)!r}: known are a duration, ok, fail, timeout"
                )
        if said is None:
            raise ProbeAnswerError(f"{where}: Invalid value: {shortened(part, 100)!r}: needs ok, fail or timeout")
        if seconds >= begins:
            found = said
        begins += length
    assert found is not None
    return found


def declared_answer(pod: Pod, container: Container, kind: ProbeType, seconds: float) -> Answer | None:
    """Return a probe's result if the pod's annotation declares it; None = not declared.

    Args:
        pod: the pod.
        container: the container of the probe.
        kind: the probe's type.
        seconds: time since the container's start in seconds.
    """
    key = f"{PREFIX}{kind.lower()}.{container.name}"
    declared = pod.metadata.annotations.get(key)
    if declared is None:
        return None
    try:
        said = answer_at(declared, seconds, f"{pod.key}: metadata.annotations[{key}]")
    except ProbeAnswerError as error:
        return Answer("unknown", str(error))
    if said == "ok":
        return Answer("success")
    probe = probes_of(container)[kind]
    return timed_out(pod, container, probe) if said == "timeout" else _failed(pod, container, probe)


def _failed(pod: Pod, container: Container, probe: Probe) -> Answer:
    if probe.http_get is not None:
        return Answer("failure", "HTTP probe failed with statuscode: 503")
    if probe.tcp_socket is not None:
        host = probe.tcp_socket.host or pod.status.pod_ip or "127.0.0.1"
        where = f"{host}:{port_of(container, probe.tcp_socket.port)}"
        return Answer("failure", f"dial tcp {where}: connect: connection refused")
    if probe.grpc is not None:
        return grpc_answer(pod, probe, "status 2")
    return Answer("failure")


def timed_out(pod: Pod, container: Container, probe: Probe) -> Answer:
    """Return the result of a probe whose answer came after its timeout."""
    seconds = probe.timeout_seconds or 1
    if probe.http_get is not None:
        text = f'Get "{http_url(pod, container, probe)}": context deadline exceeded'
        return Answer("failure", f"{text} (Client.Timeout exceeded while awaiting headers)")
    if probe.tcp_socket is not None:
        host = probe.tcp_socket.host or pod.status.pod_ip or "127.0.0.1"
        return Answer("failure", f"dial tcp {host}:{port_of(container, probe.tcp_socket.port)}: i/o timeout")
    if probe.grpc is not None:
        return grpc_answer(pod, probe, "timeout")
    words = " ".join(probe.exec.command) if probe.exec is not None else ""
    return Answer("failure", f"command timed out: {words!r} timed out after {seconds}s".replace("'", '"'))


def grpc_authority(pod: Pod, probe: Probe) -> str:
    """Return the address that a gRPC probe connects to."""
    return f"{pod.status.pod_ip or '127.0.0.1'}:{probe.grpc.port if probe.grpc is not None else 0}"


def grpc_answer(pod: Pod, probe: Probe, said: str) -> Answer:
    """Return the result of a gRPC probe from a line that `kitlib.node.real.grpc_probe_process` printed.

    Source: pkg/probe/grpc grpcProber.Probe.
    """
    kind, _, rest = said.partition(" ")
    number, _, text = rest.partition(" ")
    seconds = go_string(probe.timeout_seconds or 1)
    if kind == "connect":  # a refused connection is tried again until then
        where = grpc_authority(pod, probe)
        return Answer("failure", f'timeout: failed to connect service "{where}" within {seconds}: {_EXCEEDED}')
    if kind == "timeout" or (kind, number) == ("error", _DEADLINE_EXCEEDED):
        return Answer("failure", f"timeout: health rpc did not complete within {seconds}")
    if (kind, number) == ("error", _UNIMPLEMENTED):
        what = "this server does not implement the grpc health protocol (grpc.health.v1.Health)"
        return Answer("failure", f"error: {what}: {text}")
    if kind == "error":
        code = _CODES[int(number)] if int(number) < len(_CODES) else f"Code({number})"
        return Answer("failure", f"error: health rpc probe failed: rpc error: code = {code} desc = {text}")
    if kind != "status":
        return Answer("unknown", said)
    if number == "1":
        return Answer("success", "service healthy")
    status = _STATUSES[int(number)] if int(number) < len(_STATUSES) else number
    return Answer("failure", f'service unhealthy (responded with "{status}")')


def http_url(pod: Pod, container: Container, probe: Probe) -> str:
    """Return the URL of an httpGet probe; "" for other probes."""
    http = probe.http_get
    if http is None:
        return ""
    where = f"{http.host or pod.status.pod_ip or '127.0.0.1'}:{port_of(container, http.port)}"
    path = http.path if http.path.startswith("/") else f"/{http.path}"
    return f"{(http.scheme or 'HTTP').lower()}://{where}{path}"


def port_of(container: Container, port: int | str) -> int | str:
    """Return the number of a port; a name that the container does not define is returned unchanged."""
    named = {one.name: one.container_port for one in container.ports}
    return named.get(port, port) if isinstance(port, str) else port
