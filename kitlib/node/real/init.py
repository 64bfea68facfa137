"""The start of systemd as process 1 of a node: in its own pid namespace, below the watchdog of the container.

    watchdog                      process 1 of the container, invisible for systemd
    └── systemd                   process 1 of the node
        ├── agent                 started before systemd, holds the owner's streams
        └── dbus-daemon, pods …

The watchdog ends the container with its owner, whatever systemd, a unit or the agent does: no process of the node can
see it, stop it or outlive it. Paths of /proc that the engine hides are hidden in the node's own /proc too. Only the
necessary parts are started: systemd and, when the runtime connects to it, the bus.

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
    # without default dependencies: the bus must not wait for units that this node does not have
    "dbus.socket.d/kitlib.conf": "[Unit]\nDefaultDependencies=no\n",
    "dbus.service.d/kitlib.conf": "[Unit]\nDefaultDependencies=no\n",
}
_V1 = ("systemd.legacy_systemd_cgroup_controller=1",)
"""On cgroup v1 systemd would also mount the host's v2 hierarchy to watch its units, and leave directories there."""
_ENVIRONMENT = {"container": "docker", "PATH": oci.PATH}


def begin(agent: Callable[[], int]) -> None:
    """Start systemd and the agent in namespaces of their own, and exit; called in a child of the watchdog.

    Args:
        agent: function that runs in the agent's process; its result is the exit code.

    Raises:
        KitError: the image has no systemd, or the host refuses.
    """
    if not os.path.exists(PROGRAM):
        raise KitError(f"the node image does not contain {PROGRAM}; rebuild it with kitlib image build --systemd")
    mounts.own_namespaces()
    cgroups = RealCgroupFS()
    for root in cgroups.roots:
        mounts.make_writable(root)
        # systemd manages the processes of the root cgroup: the watchdog must not be one of them
        if cgroups.version == 2 or root == cgroups.hierarchies.get("name=systemd"):
            os.makedirs(root + LEAF, exist_ok=True)
            with open(f"{root}/cgroup.procs") as file:
                stands_here = str(os.getppid()) in file.read().split()
            if stands_here:  # in a pod the watchdog is above the node's root
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
    for kind in GENERATORS:  # disabled: they search for disks, terminals and passwords, which a node does not have
        os.makedirs(f"/run/systemd/{kind}", exist_ok=True)
        with suppress(FileNotFoundError):
            for name in os.listdir(f"/lib/systemd/{kind}"):
                os.symlink(os.devnull, f"/run/systemd/{kind}/{name}")
    if os.fork() == 0:
        os.setsid()
        os._exit(agent() & 255)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # the streams belong to the agent: systemd's output is dropped
        os.dup2(nothing, descriptor)
    for number in range(1, signal.NSIG):
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    os.execve(PROGRAM, [PROGRAM, f"--unit={TARGET}", "--log-target=null", *_V1], _ENVIRONMENT)
