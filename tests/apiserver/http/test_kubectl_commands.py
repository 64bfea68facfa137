"""The recorded commands of kubectl one by one: exit code, output, and the very requests that a real server was sent.

The commands of `kubectl_commands.txt` work on what those before them made, so the file is run as a whole.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest

from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import CONFIG, DEPLOYMENT, SERVICE, Client, start

pytestmark = pytest.mark.kubectl
FILES = {
    "dep.yaml": DEPLOYMENT.replace("REPLICAS", "2"),
    "dep2.yaml": DEPLOYMENT.replace("REPLICAS", "3"),
    "svc.yaml": SERVICE.replace("PORT", "80"),
    "svc2.yaml": SERVICE.replace("PORT", "81"),
    "cm.yaml": CONFIG.replace("NAME", "cm").replace("VALUE", '"1"'),
    "cmdef.yaml": CONFIG.replace("NAME", "cmdef").replace("VALUE", '"1"'),
}
_RESPONSE = re.compile(r'verb="(\w+)" url="https?://[^/]+([^"]*)" status="(\d+)')
_SHOWN = (
    (r"hash=[0-9A-F]+", "hash=HASH"),
    (r"resourceVersion=\d+", "resourceVersion=N"),
    (r"timeoutSeconds=\d+", "timeoutSeconds=N"),
    (r"[?&]timeout=[^&]*", ""),
    (r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID"),
    (r"\bweb-[0-9a-z]+-[0-9a-z]+\b", "POD"),
)


class Recorded(NamedTuple):
    """One command and what it must do."""

    command: str
    code: int | None
    newer: bool
    texts: list[str]
    requests: set[str]

    @property
    def words(self) -> list[str]:
        """The command without the program; a patch is one word."""
        head, _, patch = self.command.partition(" -p ")
        return [*head.split()[1:], *(["-p", patch] if patch else [])]


def recorded() -> Iterator[Recorded]:
    text = Path(__file__).with_name("kubectl_commands.txt").read_text()
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if not lines or not lines[0].startswith("$ "):
            continue
        code = lines[1].removeprefix("exit ")
        texts = [line.removeprefix("text ") for line in lines if line.startswith("text ")]
        requests = {normal(line) for line in lines if re.match(r"(GET|POST|PUT|PATCH|DELETE) /", line)}
        yield Recorded(lines[0][2:], None if code == "-" else int(code), "newer" in lines, texts, requests)


def normal(request: str) -> str:
    """A request without what differs from run to run; the order of parameters and of selectors is the client's."""
    method, _, rest = request.partition(" ")
    url, _, status = rest.rpartition(" ")
    shown = unquote(url)
    for pattern, name in _SHOWN:
        shown = re.sub(pattern, name, shown)
    path, _, query = shown.partition("?")
    parameters = sorted("=".join(_sorted(one.partition("="))) for one in query.split("&"))
    return f"{method} {path}?{'&'.join(parameters)} {status}"


def _sorted(parameter: tuple[str, str, str]) -> tuple[str, str]:
    return parameter[0], ",".join(sorted(parameter[2].split(",")))


def client(folder: Path, programs: Path) -> Client:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    made = Client(folder, programs)
    made("get", "nodes")  # it caches what the server has
    return made


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("kubectl")
    process = start(folder, "--nodes", "3")
    try:
        yield client(folder, programs)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def first_pod(kubectl: Client) -> str:
    pods = json.loads(kubectl("get", "pods", "-n", "tr", "-l", "app=web", "-o", "json"))["items"]
    return str(pods[0]["metadata"]["name"]) if pods else ""


def run(kubectl: Client, one: Recorded, verbose: str = "-v=6") -> tuple[int | None, str, str]:
    """Exit code, output and the log of requests."""
    words = [first_pod(kubectl) if word == "POD" else word for word in one.words]
    editor = "sed -i 's/^  replicas: .*/  replicas: 3/'"
    if one.code is not None:
        result = kubectl.run(verbose, *words, EDITOR=editor)
        return result.returncode, result.stdout + result.stderr, result.stderr
    process = subprocess.Popen(
        [str(kubectl._programs / "kubectl"), "-v=6", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=kubectl.environment,
    )
    assert process.stdout is not None and process.stderr is not None
    log = ""
    try:
        for line in process.stderr:
            log += line
            if one.requests <= requests_in(log):
                break
    finally:
        process.kill()
        process.wait()
    log += process.stderr.read()
    return None, process.stdout.read() + log, log


def requests_in(log: str) -> set[str]:
    return {normal(f"{method} {url} {status}") for method, url, status in _RESPONSE.findall(log)}


@pytest.mark.parametrize("one", list(recorded()), ids=lambda one: one.command)
def test_a_command_asks_and_says_what_it_does_on_a_real_server(kubectl: Client, one: Recorded) -> None:
    code, output, log = run(kubectl, one)
    assert code == one.code, output
    for text in one.texts:  # columns are as wide as the longest name
        assert " ".join(text.split()) in " ".join(output.split())
    assert requests_in(log) == one.requests


def test_all_commands_are_there() -> None:
    assert len(list(recorded())) == 74


def test_an_older_kubectl_comes_to_the_same_ends(kubectl: Client) -> None:
    program = os.environ.get("KITLIB_OLDER_KUBECTL")
    assert program, "KITLIB_OLDER_KUBECTL names no kubectl: .ci/kubectl unpacks Debian's"
    folder = kubectl.folder / "older"
    folder.mkdir()
    (folder / "kubectl").symlink_to(program)
    older = Client(kubectl.folder, folder)
    older.run("delete", "cm", "cmdef", "-n", "default")
    wrong = []
    for one in recorded():
        if one.newer or one.code is None:
            continue
        code, output, _ = run(older, one, "-v=0")
        if code != one.code:
            wrong.append(f"{one.command}: exit code {code}, not {one.code}: {output[:300]}")
    assert not wrong, "\n".join(wrong)
