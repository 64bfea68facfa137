"""The audit log has the requests that change something, and the streams into containers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kitlib.api.authorization import Attributes
from kitlib.apiserver.http.audit import KEPT, AuditLog

NOW = datetime(2024, 1, 1, 12, 30, 5, tzinfo=UTC)


def line(about: Attributes, agent: str = "kubectl/v1.36 (linux)", code: int = 200, name: str = "") -> str:
    log = AuditLog()
    log.record(NOW, "ann", agent, about, code, name)
    return str(log)


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (Attributes("create", "", "pods", namespace="n", name="p"), "create pods n/p: 200"),
        (Attributes("patch", "apps", "deployments", "scale", "n", "d"), "patch deployments.apps/scale n/d: 200"),
        (Attributes("delete", "", "nodes", name="n1"), "delete nodes n1: 200"),
        (Attributes("deletecollection", "", "pods", namespace="n"), "deletecollection pods n: 200"),
        (Attributes("create", "", "nodes"), "create nodes: 200"),
        (Attributes("get", "", "pods", "exec", "n", "p"), "get pods/exec n/p: 200"),
        (Attributes("get", "", "pods", "portforward", "n", "p"), "get pods/portforward n/p: 200"),
    ],
)
def test_a_line_of_the_log(about: Attributes, text: str) -> None:
    assert line(about) == f"12:30:05 ann (kubectl): {text}"


@pytest.mark.parametrize(
    "about",
    [
        *(Attributes(verb, "", "pods", namespace="n", name="p") for verb in ("get", "list", "watch", "head")),
        Attributes("get", "", "pods", "log", "n", "p"),
        Attributes("create", path="/metrics"),
    ],
)
def test_reads_are_left_out(about: Attributes) -> None:
    assert line(about) == ""


def test_the_name_of_a_created_object_and_of_the_program() -> None:
    about = Attributes("create", "", "pods", namespace="n")
    assert line(about, "", 201, "made").endswith("ann (unknown): create pods n/made: 201")
    assert f"({'x' * 40})" in line(about, "x" * 60)
    named = Attributes("update", "", "pods", namespace="n", name="p")
    assert line(named, name="other").endswith("n/p: 200")


def test_the_log_keeps_the_newest() -> None:
    log = AuditLog()
    for i in range(KEPT + 2):
        log.record(NOW, "ann", "k", Attributes("create", "", "pods", name=f"p{i}"), 201)
    events = list(log)
    assert (len(log), events[0].name, events[-1].name) == (KEPT, "p2", f"p{KEPT + 1}")
