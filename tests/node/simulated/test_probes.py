"""An exec probe sees the files that the container's own script makes and removes; what is not simulated succeeds."""

from __future__ import annotations

import pytest

from kitlib.api.container import ExecAction, HTTPGetAction
from kitlib.api.core import Container, Pod, Probe
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.simulated_exec import ContainerShell
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


@pytest.mark.parametrize(
    ("image", "args", "path", "removed", "status"),
    [
        ("agnhost:2", ["test-webserver"], "/localhost.crt?x=1", "/localhost.crt", "404"),
        ("agnhost:2", ["test-webserver"], "/", "/localhost.crt", ""),
        ("agnhost:2", ["netexec"], "/localhost.crt", "/localhost.crt", ""),
        ("nginx", [], "/a.html", "/usr/share/nginx/html/a.html", "404"),
        ("nginx", [], "", "/usr/share/nginx/html/index.html", "403"),
        ("httpd", [], "/", "/usr/local/apache2/htdocs/index.html", ""),
    ],
)
def test_a_server_of_files_misses_the_file_that_a_command_has_removed(
    image: str, args: list[str], path: str, removed: str, status: str
) -> None:
    probe = Probe(http_get=HTTPGetAction(port=80, path=path))
    container = Container(name="c", image=image, args=args, readiness_probe=probe)
    said = answer(Pod(), container, "Readiness", 1.0, written={removed: None})
    assert said.output.rpartition(" ")[2] == status and (said.outcome == "success") is not bool(status)


def test_a_pod_is_unready_while_its_file_is_elsewhere() -> None:
    probe = {"httpGet": {"port": 80, "path": "/localhost.crt"}, "periodSeconds": 1, "failureThreshold": 1}
    one = {"name": "c", "image": "agnhost:2", "args": ["test-webserver"], "readinessProbe": probe}
    with Cluster.simulated({"name": "n"}) as cluster:
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [one]}})
        cluster.advance(3)
        shell = ContainerShell(cluster.node("n"), "default", "web", "c")
        seen = []
        for command in ("mv -v /localhost.crt /tmp/ || true", "mv -v /tmp/localhost.crt / || true"):
            shell.run(["/bin/sh", "-x", "-c", command])
            cluster.advance(3)
            seen.append(cluster.pod("web").status.container_statuses[0].ready)
        assert seen == [False, True]
