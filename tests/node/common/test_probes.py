"""What a container answers to its probes is declared by annotation, in phases from its start on."""

from __future__ import annotations

import pytest

from kitlib.api.container import ContainerPort, ExecAction, GRPCAction, HTTPGetAction, TCPSocketAction
from kitlib.api.core import Container, Pod, Probe
from kitlib.api.meta import ObjectMeta
from kitlib.node.common.probes import ProbeAnswerError, answer_at, declared_answer, grpc_answer


@pytest.mark.parametrize(
    ("text", "seconds", "expected"),
    [
        ("ok", 0, "ok"),
        ("20s fail; ok", 19.9, "fail"),
        ("20s fail; ok", 20, "ok"),
        ("1m ok; 30s timeout; fail", 61, "timeout"),
        ("1m ok; 30s timeout; fail", 500, "fail"),
        ("10s fail; 10s ok", 90, "ok"),
    ],
)
def test_phases_begin_with_the_container(text: str, seconds: float, expected: str) -> None:
    assert answer_at(text, seconds) == expected


@pytest.mark.parametrize("text", ["", "20s", "perhaps", "-3s ok", "ok; nan fail"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ProbeAnswerError):
        answer_at(text, 0)


HTTP = Probe(http_get=HTTPGetAction(path="healthz", port="web", scheme="HTTP"), timeout_seconds=2)
CASES = [
    (HTTP, "fail", "HTTP probe failed with statuscode: 503"),
    (
        HTTP,
        "timeout",
        'Get "http://10.0.0.5:8080/healthz": context deadline exceeded '
        "(Client.Timeout exceeded while awaiting headers)",
    ),
    (Probe(tcp_socket=TCPSocketAction(port="web")), "fail", "dial tcp 10.0.0.5:8080: connect: connection refused"),
    (Probe(tcp_socket=TCPSocketAction(port=1)), "timeout", "dial tcp 10.0.0.5:1: i/o timeout"),
    (Probe(grpc=GRPCAction(port=9)), "fail", 'service unhealthy (responded with "NOT_SERVING")'),
    (
        Probe(grpc=GRPCAction(port=9), timeout_seconds=1),
        "timeout",
        "timeout: health rpc did not complete within 1s",
    ),
    (
        Probe(exec=ExecAction(command=["check", "-v"]), timeout_seconds=3),
        "timeout",
        'command timed out: "check -v" timed out after 3s',
    ),
]


@pytest.mark.parametrize(("probe", "said", "expected"), CASES)
def test_failures_have_the_words_of_the_real_probe(probe: Probe, said: str, expected: str) -> None:
    container = Container(name="c", readiness_probe=probe, ports=[ContainerPort(name="web", container_port=8080)])
    pod = Pod(metadata=ObjectMeta(name="p", annotations={"kitlib.dev/readiness.c": said}))
    pod.status.pod_ip = "10.0.0.5"
    found = declared_answer(pod, container, "Readiness", 1.0)
    assert found is not None and (found.outcome, found.output) == ("failure", expected)


GRPC = {
    "status 1": ("success", "service healthy"),
    "status 0": ("failure", 'service unhealthy (responded with "UNKNOWN")'),
    "status 3": ("failure", 'service unhealthy (responded with "SERVICE_UNKNOWN")'),
    "status 7": ("failure", 'service unhealthy (responded with "7")'),
    "connect": (
        "failure",
        'timeout: failed to connect service "10.0.0.5:9" within 1m30s: context deadline exceeded',
    ),
    "timeout": ("failure", "timeout: health rpc did not complete within 1m30s"),
    "error 4 late": ("failure", "timeout: health rpc did not complete within 1m30s"),
    "error 5 unknown service": (
        "failure",
        "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
    ),
    "error 12 unknown service grpc.health.v1.Health": (
        "failure",
        "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "
        "unknown service grpc.health.v1.Health",
    ),
    "error 99 what": ("failure", "error: health rpc probe failed: rpc error: code = Code(99) desc = what"),
    "Traceback": ("unknown", "Traceback"),
}


@pytest.mark.parametrize("said", GRPC)
def test_what_a_grpc_server_tells_has_the_words_of_the_real_probe(said: str) -> None:
    pod = Pod(metadata=ObjectMeta(name="p"))
    pod.status.pod_ip = "10.0.0.5"
    found = grpc_answer(pod, Probe(grpc=GRPCAction(port=9), timeout_seconds=90), said)
    assert (found.outcome, found.output) == GRPC[said]


def test_nothing_declared_is_no_answer() -> None:
    container = Container(name="c", readiness_probe=HTTP)
    assert declared_answer(Pod(), container, "Readiness", 1.0) is None
