"""How systemd becomes process 1 of a node: in a pid namespace of its own, below the watchdog of the container.

    watchdog                      process 1 of the container, outside of what systemd sees
    └── systemd                   process 1 of the node
        ├── agent                 started before systemd takes over, holds the owner's streams
        └── dbus-daemon, pods …

The watchdog ends the container when its owner goes, whatever systemd, a unit or the agent does: nobody in the node can
see it, stop it or outlive it, and systemd needs no say in it. What the engine hides of /proc is hidden in the node's
own /proc again. Only what the node needs is started: systemd and, when the runtime asks for it, the bus.

Source: pid_namespaces(7), mount_namespaces(7); systemd's CONTAINER_INTERFACE; systemd manager_setup_cgroup.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from kitlib.api.errors import KitError
from kitlib.node.real import mounts, oci
from kitlib.node.real.cgroupfs import LEAF, RealCgroupFS

PROGRAM = "/lib/systemd/systemd"
TARGET = "kitlib-node.target"
UNITS = "/run/systemd/system"
GENERATORS = ("system-generators", "system-environment-generators")
_SETTINGS = {
    TARGET: "[Unit]\nDescription=A node of the kit\nDefaultDependencies=no\nWants=dbus.socket\n",
    # the bus needs nothing of what an ordinary machine starts before it
    "dbus.socket.d/kitlib.conf": "[Unit]\nDefaultDependencies=no\n",
    "dbus.service.d/kitlib.conf": "[Unit]\nDefaultDependencies=no\n",
}
_V1 = ("systemd.legacy_systemd_cgroup_controller=1",)
"""On cgroup v1 systemd would also mount the host's v2 hierarchy to watch its units, and leave directories there."""
_ENVIRONMENT = {"container": "docker", "PATH": oci.PATH}


def begin(agent: Callable[[], int]) -> None:
    """In a child of the watchdog: have systemd and the agent started in namespaces of their own, and end.

    Args:
        agent: what the agent's process does; its result is the exit code.

    Raises:
        KitError: where the image has no systemd, or the host refuses.
    """
    if not os.path.exists(PROGRAM):
        raise KitError(f"this image has no {PROGRAM}: kitlib image build --systemd")
    mounts.own_namespaces()
    cgroups = RealCgroupFS()
    for root in cgroups.roots:
        mounts.make_writable(root)
        # systemd takes over what stands in the root: the watchdog stays out of its sight
        if cgroups.version == 2 or root == cgroups.hierarchies.get("name=systemd"):
            os.makedirs(root + LEAF, exist_ok=True)
            with open(f"{root}/cgroup.procs") as file:
                stands_here = str(os.getppid()) in file.read().split()
            if stands_here:  # in a pod it stands above the node's root
                with open(f"{root}{LEAF}/cgroup.procs", "w") as file:
                    file.write(str(os.getppid()))
    if os.fork():
        os._exit(0)
    _process_1(agent)


def _process_1(agent: Callable[[], int]) -> None:
    mounts.own_proc(oci.MASKED, oci.READ_ONLY)
    for name, text in _SETTINGS.items():
        place = f"{UNITS}/{name}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w") as file:
            file.write(text)
    for kind in GENERATORS:  # they look for disks, terminals and passwords: nothing that a node has
        os.makedirs(f"/run/systemd/{kind}", exist_ok=True)
        with suppress(FileNotFoundError):
            for name in os.listdir(f"/lib/systemd/{kind}"):
                os.symlink(os.devnull, f"/run/systemd/{kind}/{name}")
    if os.fork() == 0:
        os.setsid()
        os._exit(agent() & 255)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # the streams are the agent's alone: what systemd says goes nowhere
        os.dup2(nothing, descriptor)
    for number in range(1, signal.NSIG):
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    os.execve(PROGRAM, [PROGRAM, f"--unit={TARGET}", "--log-target=null", *_V1], _ENVIRONMENT)
