"""Tests of the installed engines, and the command that starts each of them on this kind of machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kitlib.node.real.installed import HostMachine, Installed, installed, not_running, this_machine


def machine(*programs: str, systemd: bool = True, root: bool = False, platform: str = "linux") -> HostMachine:
    return HostMachine(platform, systemd, root, "/run/user/7", lambda name: f"/bin/{name}" if name in programs else "")


@pytest.mark.parametrize(
    ("here", "starts"),
    [
        (machine(), []),
        (machine("docker"), []),  # the client alone
        (machine("dockerd"), ["sudo systemctl start docker"]),
        (machine("dockerd", root=True), ["systemctl start docker"]),
        (machine("dockerd", systemd=False), ["sudo service docker start"]),
        (machine("dockerd-rootless.sh"), ["systemctl --user start docker"]),
        (machine("podman"), ["systemctl --user start podman.socket"]),
        (machine("podman", root=True), ["systemctl start podman.socket"]),
        (machine("podman", systemd=False), ["podman system service --time 0 &"]),
        (machine("dockerd", "podman"), ["sudo systemctl start docker", "systemctl --user start podman.socket"]),
        (machine("colima", platform="darwin"), ["colima start"]),
        (machine("podman", platform="darwin"), ["podman machine start"]),
        (machine("podman", platform="win32"), ["podman machine start"]),
    ],
)
def test_each_engine_is_named_with_the_command_that_starts_it_here(here: HostMachine, starts: list[str]) -> None:
    assert [one.start for one in installed(here)] == starts


def test_an_engine_whose_socket_answers_is_not_among_those_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "engine.sock"
    monkeypatch.setattr(
        "kitlib.node.real.installed.installed", lambda machine=None: [Installed("X", "/bin/x", "start x", str(path))]
    )
    assert [one.name for one in not_running()] == ["X"]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        assert [one.name for one in not_running()] == ["X"], "it is bound and does not listen"
        server.listen()
        assert not_running() == []


def test_programs_are_looked_for_where_an_ordinary_users_path_does_not_lead(tmp_path: Path) -> None:
    (tmp_path / "podman").write_text("")
    (tmp_path / "podman").chmod(0o755)
    assert this_machine({"PATH": str(tmp_path)}).find("podman") == str(tmp_path / "podman")
    assert this_machine({"PATH": ""}).find("ldconfig") in ("/sbin/ldconfig", "/usr/sbin/ldconfig")
