"""The container engines that are installed on this machine, and the command that starts each of them here.

An engine that is installed and does not run looks like none at all: no socket, or one that refuses. This module looks
for the programs, not for sockets, and knows the service managers: systemd, SysV scripts, and virtual machines on macOS
and Windows.

Source: Docker's "post-installation steps" and "rootless mode"; podman-system-service(1); podman-machine(1).
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""The folder of dockerd on Debian, which is not in an ordinary user's PATH."""


@dataclass(frozen=True)
class Installed:
    """An engine that is installed.

    Attributes:
        name: the product's name.
        program: path of the program that was found.
        start: the command that starts it.
        socket: the path of its default socket; "" = not known before it runs.
    """

    name: str
    program: str
    start: str
    socket: str = ""


@dataclass(frozen=True)
class HostMachine:
    """The properties of the machine that the commands depend on.

    Attributes:
        platform: the value of `sys.platform`.
        systemd: whether systemd is process 1.
        root: whether this user is root.
        runtime: the user's folder for sockets.
        find: returns the path of a program; "" = not installed.
    """

    platform: str
    systemd: bool
    root: bool
    runtime: str
    find: Callable[[str], str]


def this_machine(environment: Mapping[str, str] | None = None) -> HostMachine:
    """Return this machine and user."""
    known = os.environ if environment is None else environment
    path = os.pathsep.join([known.get("PATH", os.defpath), *SBIN])
    user = os.geteuid() if hasattr(os, "geteuid") else 1
    return HostMachine(
        sys.platform,
        os.path.isdir("/run/systemd/system"),  # sd_booted(3)
        user == 0,
        known.get("XDG_RUNTIME_DIR") or f"/run/user/{user}",
        lambda name: shutil.which(name, path=path) or "",
    )


def installed(machine: HostMachine | None = None) -> list[Installed]:
    """Return the engines that are installed, whether they run or not."""
    here = machine or this_machine()
    if here.platform == "darwin":
        return _on_macos(here)
    if here.platform == "win32":
        return _on_windows(here)
    return _on_linux(here)


def not_running(machine: HostMachine | None = None) -> list[Installed]:
    """Return the installed engines that do not listen. One that refuses this user counts as listening."""
    return [one for one in installed(machine) if not (one.socket and _listens(one.socket))]


def _listens(path: str) -> bool:
    """Return whether a process accepts connections on a Unix socket; true for a socket that this user may not open."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        try:
            client.connect(path)
        except PermissionError:
            return os.path.exists(path)
        except OSError:
            return False
    return True


def _on_linux(here: HostMachine) -> list[Installed]:
    sudo = "" if here.root else "sudo "
    found = []
    if program := here.find("dockerd"):
        service = f"{sudo}systemctl start docker" if here.systemd else f"{sudo}service docker start"
        found.append(Installed("Docker Engine", program, service, "/var/run/docker.sock"))
    if not here.root and (program := here.find("dockerd-rootless.sh")):
        start = "systemctl --user start docker" if here.systemd else "dockerd-rootless.sh &"
        found.append(Installed("Docker Engine without root", program, start, f"{here.runtime}/docker.sock"))
    if program := here.find("podman"):
        user = "" if here.root else "--user "
        start = f"systemctl {user}start podman.socket" if here.systemd else "podman system service --time 0 &"
        folder = "/run" if here.root else here.runtime
        found.append(Installed("Podman", program, start, f"{folder}/podman/podman.sock"))
    if program := here.find("colima"):
        found.append(Installed("Colima", program, "colima start"))
    return found


def _on_macos(here: HostMachine) -> list[Installed]:
    found = []
    applications = (("Docker Desktop", "Docker"), ("OrbStack", "OrbStack"), ("Rancher Desktop", "Rancher Desktop"))
    for name, application in applications:
        folder = Path("/Applications") / f"{application}.app"
        if os.path.exists(folder):
            found.append(
                Installed(
                    name, str(folder), f"open -a {application!r}" if " " in application else f"open -a {application}"
                )
            )
    machines = (
        ("colima", "Colima", "colima start"),
        ("podman", "Podman", "podman machine start"),
        ("limactl", "Lima", "limactl start docker"),
    )
    for program, name, start in machines:
        if path := here.find(program):
            found.append(Installed(name, path, start))
    return found


def _on_windows(here: HostMachine) -> list[Installed]:
    found = []
    place = os.path.join(os.environ.get("PROGRAMFILES", r"C:\Program Files"), "Docker", "Docker", "Docker Desktop.exe")
    if os.path.exists(place):
        found.append(Installed("Docker Desktop", place, "start Docker Desktop from the Start menu"))
    if program := here.find("podman"):
        found.append(Installed("Podman", program, "podman machine start"))
    return found
