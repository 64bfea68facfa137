"""kubectl follows what runs in a simulated container until it ends: logs -f, attach, run -it --rm."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client, start

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("kubectl")
    process = start(folder, "--nodes", "1")
    try:
        yield Client(folder, programs)
    finally:
        process.terminate()
        assert process.wait(20) == 0


@pytest.mark.parametrize("words", [("logs", "-f", "web"), ("attach", "web")], ids=["logs -f", "attach"])
def test_it_stays_while_the_container_runs_and_ends_with_it(kubectl: Client, words: tuple[str, ...]) -> None:
    kubectl("run", "web", "--image=x", "--restart=Never")
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    follower = subprocess.Popen(
        [str(Path(str(binaries())) / "kubectl"), *words],
        env=kubectl.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            follower.wait(2)
        kubectl("delete", "pod", "web", "--grace-period=1")
        assert follower.wait(60) == 0, follower.stdout.read() if follower.stdout else ""
    finally:
        follower.kill()
        follower.communicate()


def test_a_pod_that_is_run_for_one_session_is_gone_afterwards(kubectl: Client) -> None:
    words = ("run", "box", "-i", "--rm", "--image=busybox", "--restart=Never", "--", "sh")
    assert "box\n" in kubectl(*words, stdin="hostname\nexit\n")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_a_program_that_is_not_there_is_refused_with_those_that_are(kubectl: Client) -> None:
    kubectl("run", "idle", "--image=x")
    kubectl("wait", "--for=condition=Ready", "pod/idle", "--timeout=60s")
    refused = kubectl.refused("exec", "idle", "--", "curl", "localhost")
    assert "curl: not found (a simulated container runs no programs; it knows cat, cp, dd, echo" in refused
    kubectl("delete", "pod", "idle", "--now")


def test_a_client_that_speaks_only_spdy_is_answered(kubectl: Client) -> None:
    kubectl("run", "spdy", "--image=x", "-i", "--restart=Never", "--attach=false")
    kubectl("wait", "--for=condition=Ready", "pod/spdy", "--timeout=60s")
    older = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}
    assert kubectl("exec", "spdy", "--", "hostname", **older) == "spdy\n"
    assert kubectl("exec", "-i", "spdy", "--", "sh", stdin="hostname\n", **older) == "spdy\n"
    assert "exit code 127" in kubectl.refused("exec", "spdy", "--", "curl", **older)
