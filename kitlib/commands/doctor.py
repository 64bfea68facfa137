"""`kitlib doctor`: the features of this machine, and the parts of the kit that work on it.

Every line is one finding: its subject, the result, its state, and the remedy for a problem. The simulated kernel needs
only Python, so the exit code is 0 if the kit itself can run.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from kitlib.commands import last_errors

State = Literal["ok", "limited", "missing"]

EXTRAS = {
    "notebooks and widgets": ("notebook", ("jupyterlab", "ipywidgets", "anywidget", "pandas", "plotly")),
    "real nodes": ("docker", ("docker",)),
    "a live cluster": ("live", ("kubernetes",)),
}
POD_WITHIN = 30.0
"""Timeout of a pod's start in seconds; it takes 0.2 on an idle machine."""
CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_SYS_RESOURCE": 24}


@dataclass(frozen=True)
class Finding:
    """A line of the report.

    Attributes:
        subject: the examined feature.
        state: "ok", "limited" (works in part) or "missing".
        found: the result.
        advice: the remedy; "" = none needed.
    """

    subject: str
    state: State
    found: str
    advice: str = ""


def add(commands: Any) -> None:
    made = commands.add_parser(
        "doctor",
        help="say what this machine offers and what of the kit works here",
        description="Look at Python, packages, the container engine, cgroups and capabilities; say what works here.",
    )
    made.add_argument("--json", action="store_true", help="print the findings as JSON")
    made.add_argument(
        "--report", action="store_true", help="print the information for a problem report, without names and secrets"
    )
    made.add_argument("--no-engine", action="store_true", help="do not connect to a container engine")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    findings = examine(engine=not options.no_engine)
    essential = all(f.state != "missing" for f in findings if f.subject == "kitlib")
    if options.report:
        print(report(findings))
    elif options.json:
        print(json.dumps({"works": essential, "findings": [asdict(f) for f in findings]}, indent=2))
    else:
        _show(findings)
    return 0 if essential else 1


def report(findings: list[Finding]) -> str:
    """Return a report of a problem as Markdown: findings, kernel, settings, the last defects.

    Only the names of settings are printed, except those that hold no name or address; the user's and the machine's name
    and the home directory are replaced everywhere.
    """
    settings = {
        name: value if name in _HARMLESS else "set"
        for name, value in sorted(os.environ.items())
        if name.startswith(("KITLIB_", "DOCKER_", "CONTAINER_"))
    }
    lines = [
        "<!-- kitlib doctor --report; look through it before you publish it -->",
        f"kernel: {platform.release()}, {platform.libc_ver()[0] or 'libc unknown'} {platform.libc_ver()[1]}".rstrip(),
        f"encoding: {sys.stdout.encoding}, file names {sys.getfilesystemencoding()}",
        f"settings: {', '.join(f'{name}={value}' for name, value in settings.items()) or 'none'}",
        "",
        "| | subject | found | advice |",
        "|---|---|---|---|",
        *(f"| {f.state} | {f.subject} | {_cell(f.found)} | {_cell(f.advice)} |" for f in findings),
    ]
    for entry in last_errors.kept():
        lines += ["", "```", entry.strip(), "```"]
    return _anonymous("\n".join(lines))


_HARMLESS = ("KITLIB_NODES", "KITLIB_NODE_IMAGE_PULL", "KITLIB_LAB_SEED")
_CREDENTIALS = re.compile(r"(\w+://)[^/@\s]+@")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _anonymous(text: str) -> str:
    """Replace text that identifies the machine or its user: home, user, host, and credentials in addresses."""
    text = _CREDENTIALS.sub(r"\1…@", text)
    with suppress(RuntimeError):
        text = text.replace(str(Path.home()), "~")
    text = text.replace(str(Path(sys.prefix)), "PREFIX")
    names = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME")}
    for name, word in [*((one, "USER") for one in names), (platform.node(), "HOST")]:
        if len(name) > 2 and name not in ("root", "localhost"):
            text = re.sub(rf"\b{re.escape(name)}\b", word, text)
    return text


def examine(*, engine: bool = True) -> list[Finding]:
    """Examine the machine within a few seconds, without changing it.

    Args:
        engine: whether to try to reach a container engine.
    """
    findings = [_python(), _kit(), *(_extra(what) for what in EXTRAS), _cgroups(), _capabilities(), _memory()]
    answered = _engine() if engine else []
    return [*findings, *answered, _verdict(findings, answered)]


def _python() -> Finding:
    return Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _kit() -> Finding:
    needed = ("msgspec", "numpy", "yaml", "rich")
    missing = [name for name in needed if not _has(name)]
    from kitlib import __version__

    if missing:
        return Finding("kitlib", "missing", f"{__version__}, without {', '.join(missing)}", "pip install kitlib")
    return Finding("kitlib", "ok", f"{__version__} with {', '.join(_versions(('msgspec', 'numpy')))}")


def _extra(what: str) -> Finding:
    extra, packages = EXTRAS[what]
    missing = [name for name in packages if not _has(name)]
    if missing:
        return Finding(what, "missing", f"without {', '.join(missing)}", f"pip install 'kitlib[{extra}]'")
    return Finding(what, "ok", ", ".join(_versions(packages)))


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _versions(packages: tuple[str, ...]) -> list[str]:
    found = []
    for name in packages:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(name)
    return found


def _cgroups() -> Finding:
    """Examine the host's cgroup version; a node of the kit has the engine's."""
    mount = Path("/sys/fs/cgroup")
    if not sys.platform.startswith("linux"):
        return Finding("cgroups", "limited", f"none on {platform.system()}", "the engine's virtual machine has them")
    if (mount / "cgroup.controllers").exists():
        return Finding("cgroups", "ok", f"version 2: {(mount / 'cgroup.controllers').read_text().strip()}")
    controllers = sorted(p.name for p in mount.iterdir() if p.is_dir()) if mount.is_dir() else []
    if controllers:
        return Finding("cgroups", "ok", f"version 1: {', '.join(controllers)}")
    return Finding("cgroups", "limited", "not mounted at /sys/fs/cgroup", "real nodes need an engine elsewhere")


def _capabilities() -> Finding:
    """Examine the bounding set: without SYS_RESOURCE no oom_score_adj below 0 can be set."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return Finding("capabilities", "limited", "not known here", "the engine decides what nodes get")
    bounding = int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd")), 16)
    lacking = [name for name, bit in CAPABILITIES.items() if not bounding >> bit & 1]
    if lacking:
        advice = "nodes start with what is granted; oom_score_adj below 0 may be refused, and is shown as refused"
        return Finding("capabilities", "limited", f"bounding set without {', '.join(lacking)}", advice)
    return Finding("capabilities", "ok", f"bounding set with {', '.join(CAPABILITIES)}")


def _memory() -> Finding:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError, AttributeError):
        return Finding("machine", "ok", f"{os.cpu_count()} CPUs")
    return Finding("machine", "ok" if total >= 2 else "limited", f"{os.cpu_count()} CPUs, {total:.1f} GiB of memory")


def _engine() -> list[Finding]:
    """Examine the engine, the node image, and the restrictions of a node there."""
    from kitlib.node.real import engine

    closed = [Finding("closed place", "limited", str(place), place.advice) for place in engine.closed_places()]
    return [*_engines(), *closed]


def _engines() -> list[Finding]:
    advice = "without an engine everything runs on the simulated kernel: Cluster.simulated()"
    if not _has("docker"):
        text = "the docker package is not installed"
        return [Finding("container engine", "missing", text, "pip install 'kitlib[docker]'")]
    from kitlib.api.errors import KitError
    from kitlib.node.real import engine, host, image, leftovers

    try:
        client, endpoint = engine.reach()
    except KitError as error:
        return [Finding("container engine", "missing", str(error)[:600], advice), *_not_running()]
    try:
        there = host.host_of(client, endpoint)
        told = f"{there}; found at {there.found}"
        found = [Finding("container engine", "limited" if there.refuses else "ok", told, "; ".join(there.refuses))]
        if there.hindrance:
            instead = "Cluster.simulated() needs no engine"
            return [*found, Finding("a real node", "missing", "cannot start on this engine", instead)]
        found.append(_root(there.maps_root))
        if gone := leftovers.remove_unfinished(client):
            text = f"removed {len(gone)} {'image' if len(gone) == 1 else 'images'} of builds that were killed"
            found.append(Finding("unfinished builds", "ok", text))
        if image.have(client, image.tag()):
            found.append(Finding("image of a node", "ok", image.tag()))
            found.append(_node())
        elif image.ready(client):
            found.append(Finding("image of a node", "ok", "its base is there; the rest is built when it is needed"))
        else:
            hint = "kitlib image build, or without a network: kitlib image load FILE"
            found.append(Finding("image of a node", "missing", "not built yet", hint))
        return [*found, _systemd_image(client)]
    except KitError as error:
        return [Finding("container engine", "missing", f"it fails: {str(error)[:300]}", advice)]
    finally:
        client.close()


def _not_running() -> list[Finding]:
    """Return the engines that are installed but not running, each with the command that starts it."""
    from kitlib.node.real.installed import installed, not_running

    if not installed():
        where = "https://docs.docker.com/engine/install, https://podman.io/docs/installation"
        return [Finding("installed engine", "missing", "neither Docker nor Podman is installed", where)]
    return [
        Finding("installed engine", "limited", f"{one.name} ({one.program}) does not run", f"start it: {one.start}")
        for one in not_running()
    ]


def _root(mapped: bool) -> Finding:
    """Report the privileges of a node's root on the machine. Source: user_namespaces(7), capabilities(7)."""
    if mapped:
        return Finding("root of a node", "ok", "is the engine's own user on the machine (user namespace)")
    advice = "give real nodes only to people whom you would give root there; an engine without root maps it"
    return Finding("root of a node", "limited", "is root of the machine (CAP_SYS_ADMIN, no user namespace)", advice)


def _node() -> Finding:
    """Start a node and a pod, read the host's refusals from it, and end it: only a running node shows them."""
    from kitlib.api.errors import KitError
    from kitlib.cluster import Cluster

    container = {"name": "trial", "image": "none", "command": ["sleep", "1000"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial"}, "spec": {"containers": [container]}}
    found = "does not start"
    try:
        with Cluster.docker(1, cpus=1, memory="256Mi") as cluster:
            found = "starts, and a pod on it does not"
            cluster.apply(pod)
            cluster.wait(lambda c: c.pod("trial").status.phase == "Running", POD_WITHIN)
            lacking = list(cluster.node().fidelity)
    except KitError as error:
        advice = "build its image anew: kitlib image build"
        return Finding("a real node", "missing", f"{found}: {str(error)[:300]}", advice)
    if lacking:
        return Finding("a real node", "limited", "starts, with a pod", "; ".join(lacking))
    return Finding("a real node", "ok", "starts, with a pod, and nothing is refused")


def _systemd_image(client: Any) -> Finding:
    """Examine the systemd image, which only nodes with the systemd cgroup driver need."""
    from kitlib.node.real import image

    subject = "image with systemd"
    if image.have(client, image.tag(systemd=True)):
        return Finding(subject, "ok", image.tag(systemd=True))
    if image.ready(client, systemd=True):
        return Finding(subject, "ok", "its base is there; the rest is built when a node wants it")
    hint = "for nodes with --cgroup-driver=systemd: kitlib image build --systemd"
    return Finding(subject, "limited", "not built yet", hint)


def _verdict(findings: list[Finding], engine: list[Finding]) -> Finding:
    works = ["the simulated kernel", "kitlib demo", "kitlib conformance"]
    by_subject = {f.subject: f for f in findings}
    if by_subject["notebooks and widgets"].state == "ok":
        works.append("notebooks")
    if engine and all(found.state != "missing" for found in engine):
        works.append("real nodes")
    return Finding("works here", "ok", ", ".join(works))


def _show(findings: list[Finding]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from kitlib.views.terminal import console

    table = Table(box=None, show_header=False, pad_edge=False)
    marks = {"ok": "[green]ok[/]", "limited": "[yellow]limited[/]", "missing": "[red]missing[/]"}
    for finding in findings:
        text = escape(finding.found) + (f"\n[dim]{escape(finding.advice)}[/]" if finding.advice else "")
        table.add_row(marks[finding.state], finding.subject, text)
    console().print(table)
