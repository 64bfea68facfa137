"""An exec probe sees the files that the container's own script makes and removes; what is not simulated succeeds."""

from __future__ import annotations

import pytest

from kitlib.api.container import ExecAction, HTTPGetAction
from kitlib.api.core import Container, Pod, Probe
from kitlib.node.simulated.probes import answer

TUTORIAL = ["/bin/sh", "-c", "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"]
LATER = ["sh", "-c", "sleep 20 && echo ready > /tmp/ready; sleep infinity"]


@pytest.mark.parametrize(
    ("script", "command", "seconds", "outcome"),
    [
        (TUTORIAL, ["cat", "/tmp/healthy"], 29, "success"),
        (TUTORIAL, ["cat", "/tmp/healthy"], 30, "failure"),
        (LATER, ["test", "-f", "/tmp/ready"], 19, "failure"),
        (LATER, ["sh", "-c", "[ -e /tmp/ready ]"], 21, "success"),
        (LATER, ["sh", "-c", "test ! -e /tmp/ready"], 19, "success"),
        (LATER, ["sh", "-c", "cat /tmp/ready || exit 0"], 1, "success"),
        (LATER, ["sh", "-c", "cat /tmp/ready && true"], 1, "failure"),
        (["nginx"], ["pg_isready"], 1, "success"),
        (["nginx"], ["/bin/false"], 1, "failure"),
        (["nginx"], ["sh", "-c", "exit 3"], 1, "failure"),
    ],
)
def test_exec(script: list[str], command: list[str], seconds: float, outcome: str) -> None:
    probe = Probe(exec=ExecAction(command=command))
    container = Container(name="c", command=script, liveness_probe=probe)
    assert answer(Pod(), container, "Liveness", seconds).outcome == outcome


def test_a_server_answers_from_its_start_on() -> None:
    probe = Probe(http_get=HTTPGetAction(port=80))
    assert answer(Pod(), Container(name="c", readiness_probe=probe), "Readiness", 0.0).outcome == "success"
