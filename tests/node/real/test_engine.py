"""Which engine is taken, what is said of it, and how errors of it read; no engine is needed for this."""

from __future__ import annotations

import getpass
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kitlib.node.real import engine, host


def stored(home: Path, name: str, told: dict[str, Any]) -> Path:
    """A context as the docker command stores it; the folder of its certificates."""
    directory = hashlib.sha256(name.encode()).hexdigest()
    meta = home / ".docker/contexts/meta" / directory
    meta.mkdir(parents=True)
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": told}))
    return home / ".docker/contexts/tls" / directory / "docker"


def test_docker_host_counts_before_docker_context_and_that_before_the_chosen_context(tmp_path: Path) -> None:
    for name in ("chosen", "named"):
        stored(tmp_path, name, {"docker": {"Host": f"tcp://{name}:2375"}})
    (tmp_path / ".docker/config.json").write_text(json.dumps({"currentContext": "chosen"}))
    environment = {"DOCKER_HOST": "unix:///x.sock", "DOCKER_CONTEXT": "named"}
    found = []
    for leave_out in ((), ("DOCKER_HOST",), ("DOCKER_HOST", "DOCKER_CONTEXT")):
        left = {k: v for k, v in environment.items() if k not in leave_out}
        found.append([one.found for one in engine.endpoints(left, tmp_path)])
    assert found == [["DOCKER_HOST=unix:///x.sock"], ["Docker context named"], ["Docker context chosen"]]
    (tmp_path / "elsewhere").mkdir()
    elsewhere = {"DOCKER_CONFIG": str(tmp_path / "elsewhere")}
    assert all(one.url.startswith("unix://") for one in engine.endpoints(elsewhere, tmp_path))


def test_a_context_brings_its_certificates_and_says_whether_to_check_the_engines(tmp_path: Path) -> None:
    stored(tmp_path, "safe", {"docker": {"Host": "tcp://a:2376", "SkipTLSVerify": False}}).mkdir(parents=True)
    stored(tmp_path, "loose", {"docker": {"Host": "tcp://b:2376", "SkipTLSVerify": True}})
    (safe,) = engine.endpoints({"DOCKER_CONTEXT": "safe"}, tmp_path)
    (loose,) = engine.endpoints({"DOCKER_CONTEXT": "loose"}, tmp_path)
    assert (safe.url, bool(safe.tls), safe.verify) == ("tcp://a:2376", True, True)
    assert (loose.url, bool(loose.tls), loose.verify) == ("tcp://b:2376", False, False)


def test_docker_desktop_on_linux_is_a_context_like_any_other(tmp_path: Path) -> None:
    stored(tmp_path, "desktop-linux", {"docker": {"Host": f"unix://{tmp_path}/.docker/desktop/docker.sock"}})
    (tmp_path / ".docker/config.json").write_text(json.dumps({"currentContext": "desktop-linux"}))
    (found,) = engine.endpoints({}, tmp_path)
    assert found.url.endswith("/.docker/desktop/docker.sock")


@pytest.mark.parametrize("text", ["{}", "no json", '{"Endpoints": {"kubernetes": {}}}', "[]"])
def test_a_context_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    stored(tmp_path, "broken", {})
    next((tmp_path / ".docker/contexts/meta").glob("*/meta.json")).write_text(text)
    with pytest.raises(engine.EngineError, match=r"Docker context 'broken': .*meta.json cannot be read"):
        engine.endpoints({"DOCKER_CONTEXT": "broken"}, tmp_path)


USUAL = (
    "run-of-mine/docker.sock",
    ".docker/run/docker.sock",
    ".docker/desktop/docker.sock",
    ".rd/docker.sock",
    ".colima/default/docker.sock",
    ".config/colima/default/docker.sock",
    ".orbstack/run/docker.sock",
    ".lima/docker/sock/docker.sock",
    "run-of-mine/podman/podman.sock",
    ".local/share/containers/podman/machine/podman.sock",
    "scratch/podman/podman-machine-default-api.sock",
)


@pytest.mark.skipif(sys.platform == "win32", reason="sockets")
def test_sockets_are_tried_where_engines_put_them(tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": f"{tmp_path}/run-of-mine", "TMPDIR": f"{tmp_path}/scratch"}
    assert not [e for e in engine.endpoints(environment, tmp_path) if str(tmp_path) in e.url]
    for path in USUAL:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    found = [e.url.removeprefix("unix://") for e in engine.endpoints(environment, tmp_path)]
    assert [path for path in found if path.startswith(str(tmp_path))] == [f"{tmp_path}/{path}" for path in USUAL]


def test_on_windows_named_pipes_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.sys, "platform", "win32")
    urls = [one.url for one in engine.endpoints({}, tmp_path)]
    assert urls == ["npipe:////./pipe/docker_engine", "npipe:////./pipe/podman-machine-default"]


def test_the_next_place_is_tried_where_one_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker")
    places = [engine.EngineEndpoint(f"unix://{tmp_path}/{name}.sock", name) for name in ("first", "second")]
    monkeypatch.setattr(engine, "endpoints", lambda environment: places)
    with pytest.raises(engine.EngineError, match=r"first: no such file or directory; second: no such file"):
        engine.connect()


DOCKER = {"Version": "28.2.2", "Components": [{"Name": "Engine"}, {"Name": "containerd"}], "Platform": {"Name": ""}}
PODMAN = {"Version": "4.3.1", "Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]}
DESKTOP = {**DOCKER, "Platform": {"Name": "Docker Desktop 4.43.1 (198352)"}}
ALL = {"MemoryLimit": True, "PidsLimit": True, "CPUShares": True, "CpuCfsQuota": True, "CPUSet": True}


@pytest.mark.parametrize(
    ("version", "info", "name"),
    [
        (DOCKER, {"OperatingSystem": "Debian GNU/Linux 12"}, "Docker Engine"),
        (DESKTOP, {"OperatingSystem": "Docker Desktop"}, "Docker Desktop"),
        (DOCKER, {"OperatingSystem": "Docker Desktop"}, "Docker Desktop"),
        (PODMAN, {"OperatingSystem": "debian"}, "Podman"),
        ({"Version": "1"}, {}, "Docker Engine"),
    ],
)
def test_an_engine_is_called_by_its_products_name(version: dict[str, Any], info: dict[str, Any], name: str) -> None:
    assert host.name_of(version, info) == name


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({**ALL, "CgroupVersion": "2", "OSType": "linux"}, []),
        ({**ALL, "PidsLimit": False}, ["its host has no limits of process numbers"]),
        ({**ALL, "SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]}, ["only root may own cgroups"]),
        ({**ALL, "Rootless": True, "CgroupVersion": "2"}, ["controllers that were delegated"]),
        ({**ALL, "SecurityOptions": ["name=userns"]}, ["maps users"]),
        ({**ALL, "OSType": "windows"}, ["runs windows containers"]),
    ],
)
def test_what_an_engine_keeps_from_nodes_is_said(info: dict[str, Any], said: list[str]) -> None:
    found = host.refusals(info)
    assert len(found) == len(said)
    assert all(part in text for part, text in zip(said, found, strict=True))


def test_an_engines_refusal_is_told_in_its_own_words_and_a_defect_of_the_kit_is_not_hidden() -> None:
    errors = pytest.importorskip("docker").errors
    full = errors.APIError("500 Server Error", explanation="write /x: no space left on device")
    with (
        pytest.raises(engine.EngineError, match=r"a thing: write /x: no space left on device .*docker system prune"),
        engine.asking("a thing"),
    ):
        raise full
    with pytest.raises(ZeroDivisionError), engine.asking("a thing"):
        raise ZeroDivisionError


@contextmanager
def an_ordinary_user() -> Iterator[None]:
    """Be an ordinary user for a while, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def closed(folder: Path, mode: int) -> Path:
    """Return the folder of an engine of root's, as Debian's podman package makes it."""
    place = folder / "run-of-mine" / "podman"
    place.mkdir(parents=True)
    (place / "podman.sock").touch()
    for one in (folder, *folder.parents):
        if one.owner() == getpass.getuser() and one.name.startswith(("pytest", "popen", "test_")):
            one.chmod(0o755)
    place.chmod(mode)
    return place


@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_a_folder_that_may_not_be_read_counts_as_absent_and_is_named(tmp_path: Path, mode: int) -> None:
    place = closed(tmp_path, mode)
    environment = {"XDG_RUNTIME_DIR": f"{tmp_path}/run-of-mine", "TMPDIR": f"{tmp_path}/scratch"}
    with an_ordinary_user():
        found = engine.endpoints(environment, tmp_path)
        said = [one for one in engine.closed_places(environment, tmp_path) if one.path.is_relative_to(tmp_path)]
    place.chmod(0o700)
    assert not [one for one in found if str(tmp_path) in one.url]
    assert [one.path for one in said] == [place]
    assert "a Podman of your own needs no rights" in said[0].advice


def test_a_socket_of_another_users_group_is_named_with_the_way_into_the_group(tmp_path: Path) -> None:
    place = closed(tmp_path, 0o755) / "podman.sock"
    place.chmod(0o000)
    environment = {"XDG_RUNTIME_DIR": f"{tmp_path}/run-of-mine"}
    with an_ordinary_user():
        said = [one for one in engine.closed_places(environment, tmp_path) if one.path.is_relative_to(tmp_path)]
    assert [one.path for one in said] == [place]
    assert said[0].advice.startswith("sudo usermod -aG ")


def test_a_user_without_a_home_finds_no_engine_instead_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", staticmethod(nowhere))
    assert all(one.url.startswith("unix://") for one in engine.endpoints({"TMPDIR": "/nonexistent"}))


@pytest.mark.parametrize("files", ["CPUShares", "CpuCfsQuota", "CPUSet"])
def test_podmans_search_for_files_of_cgroup_v1_says_nothing_of_a_host_with_v2(files: str) -> None:
    info = {**ALL, files: False, "CgroupVersion": "2"}
    assert host.refusals(info, "Podman") == []
    assert (
        len(host.refusals({**info, "CgroupVersion": "1"}, "Podman")) == len(host.refusals(info, "Docker Engine")) == 1
    )


def test_a_context_that_does_not_exist_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(engine.EngineError, match=r"context 'gone' does not exist; docker context ls .* use default"):
        engine.endpoints({"DOCKER_CONTEXT": "gone"}, tmp_path)


def test_an_engine_behind_ssh_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK ends with a NameError in this case."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "paramiko" else object())
    monkeypatch.setenv("DOCKER_HOST", "ssh://user@nowhere.example")
    with pytest.raises(engine.EngineError, match=r"requires the package paramiko: pip install 'docker\[ssh\]'"):
        engine.reach({"DOCKER_HOST": "ssh://user@nowhere.example"})
