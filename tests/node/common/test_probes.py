"""What a container answers to its probes is declared by annotation, in phases from its start on."""

from __future__ import annotations

import pytest

from kitlib.api.container import ContainerPort, ExecAction, GRPCAction, HTTPGetAction, TCPSocketAction
from kitlib.api.core import Container, Pod, Probe
from kitlib.api.meta import ObjectMeta
from kitlib.node.common.probes import ProbeAnswerError, answer_at, declared_answer


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
        'timeout: failed to connect service "10.0.0.5:9" within 1s: context deadline exceeded',
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


def test_nothing_declared_is_no_answer() -> None:
    container = Container(name="c", readiness_probe=HTTP)
    assert declared_answer(Pod(), container, "Readiness", 1.0) is None
