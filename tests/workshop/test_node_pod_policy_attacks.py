"""Attempts on a learner's namespace for nodes, against `kitlib up`: none gets through, nor with all rights on pods."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitlib import cli
from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client, start
from tests.workshop import attacks

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[attacks.Server]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("attacks")
    assert cli.main(["workshop", str(folder / "recipe"), "--kubernetes", "--no-wheel", "--learners", "1"]) == 0
    process = start(folder, "--nodes", "2")
    try:
        kubectl = Client(folder, programs)
        kubectl("create", "namespace", attacks.HUB)
        kubectl("apply", "-f", str(folder / "recipe" / "nodes-namespace.yaml"))
        yield attacks.Server(Path(kubectl.environment["KUBECONFIG"]))
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def through(answers: dict[str, tuple[int, str]]) -> set[str]:
    return {name for name, (status, _) in answers.items() if status < 400} - attacks.HARMLESS


def test_nothing_gets_through_with_a_learners_rights(server: attacks.Server) -> None:
    answers = attacks.run(server)
    assert len(answers) > 120 and through(answers) == set()
    by_policy = [said for _, said in answers.values() if "ValidatingAdmissionPolicy" in said]
    assert len(by_policy) > 50, "most are refused by the policies, not for want of rights or by validation"


def test_nothing_gets_through_with_every_right_on_pods(server: attacks.Server) -> None:
    attacks.widen(server)
    answers = attacks.run(server)
    assert through(answers) == set()
    longer = [said for name, (_, said) in answers.items() if name.startswith("delete with a grace period")]
    assert len(longer) == 4 and all("'kitlib-nodes-delete'" in said for said in longer)
    streams = {name: said for name, (_, said) in answers.items() if name.split()[0] in ("exec", "attach", "forward")}
    allowed = {name for name, said in streams.items() if "'kitlib-nodes-subresources'" not in said}
    # the policy says nothing about another learner's namespace to which there is no right
    assert len(streams) == 8 and allowed == {"attach to another learner's pod"}
