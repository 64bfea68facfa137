"""A root file system is checked before it becomes a node's base."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kitlib.node.real import image
from kitlib.node.real.root_check import can_install, missing_packages, offline

WHOLE = ("bin/sh", "usr/bin/python3", "usr/bin/crun", "usr/bin/stress-ng", "usr/bin/ps")
WITH_SYSTEMD = (*WHOLE, "usr/lib/systemd/systemd", "usr/bin/dbus-daemon")
APT = "usr/bin/apt-get"


def directory(folder: Path, *files: str) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def archive(folder: Path, *files: str) -> Path:
    """Return a root packed as debootstrap does: names begin with a dot, /bin is a link."""
    place = folder / "root.tar"
    with tarfile.open(place, "w") as made:
        link = tarfile.TarInfo("./bin")
        link.type, link.linkname = tarfile.SYMTYPE, "usr/bin"
        made.addfile(link)
        for name in files:
            made.addfile(tarfile.TarInfo(f"./{name}"), io.BytesIO())
    return place


CASES = {
    "nothing is missing": (WHOLE, False, []),
    "debootstrap without packages": (("bin/sh", "usr/bin/python3", "usr/bin/ps", APT), False, ["crun", "stress-ng"]),
    "an empty folder": (("etc/passwd",), False, ["dash", "python3", "crun", "stress-ng", "procps"]),
    "programs elsewhere do not count": ((*WHOLE[:2], "opt/crun", *WHOLE[3:]), False, ["crun"]),
    "a node's root for one with systemd": (WHOLE, True, ["systemd", "dbus"]),
    "with systemd": (WITH_SYSTEMD, True, []),
}


@pytest.mark.parametrize("make", [directory, archive], ids=["directory", "archive"])
@pytest.mark.parametrize(("files", "systemd", "lacks"), CASES.values(), ids=CASES.keys())
def test_what_a_root_lacks(make: Any, files: tuple[str, ...], systemd: bool, lacks: list[str], tmp_path: Path) -> None:
    assert missing_packages(make(tmp_path, *files), systemd=systemd) == lacks


def test_packages_are_added_where_the_root_can_install_them(tmp_path: Path) -> None:
    assert can_install(archive(tmp_path, "usr/bin/sh", APT))
    assert not can_install(archive(tmp_path, "usr/bin/sh"))
    assert offline(["python3", "crun"]) == "debootstrap --variant=minbase --include=python3,crun bookworm ROOT"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            ("bin/sh",),
            r"nothing was built\. It lacks python3, crun, stress-ng, procps; without a network: debootstrap ",
        ),
        (None, r"root: neither a directory nor a tar archive of a root file system$"),
    ],
)
def test_a_root_of_which_no_node_can_be_made_is_refused_before_the_engine_is_asked(
    files: tuple[str, ...] | None, said: str, tmp_path: Path
) -> None:
    """The client is None, so that every request would fail. An existing base is therefore never replaced."""
    root = tmp_path / "root"
    if files is None:
        root.write_text("no archive")
    else:
        root.mkdir()
        directory(root, *files)
    with pytest.raises(image.ImageError, match=said):
        image.build(None, root=root)


class Builder:
    """An engine whose builds fail as apt-get without a network does, in colour."""

    def __init__(self) -> None:
        self.api = self.images = self
        self.base_url, self.timeout = "", 1
        self.tagged: list[str] = []
        self.removed: list[str] = []

    def __call__(self, **asked: Any) -> list[dict[str, Any]]:
        """List images: none is without a name."""
        return []

    def get(self, name: str) -> str:
        return name

    def remove(self, name: str, noprune: bool = False) -> None:
        self.removed.append(name)

    def import_image_from_data(self, data: Any, repository: str, tag: str) -> None:
        self.tagged.append(f"{repository}:{tag}")

    def build(self, **asked: Any) -> Any:
        yield {"stream": "\x1b[91mE: Unable to locate package crun\n\x1b[0m"}
        yield {"error": "returned a non-zero code: 100"}


def test_a_failed_build_leaves_the_base_that_stands_and_says_what_the_root_lacks(tmp_path: Path) -> None:
    engine = Builder()
    with pytest.raises(image.ImageError) as raised:
        image.build(engine, root=archive(tmp_path, "usr/bin/sh", "usr/bin/python3", APT))
    assert "\x1b" not in str(raised.value) and "E: Unable to locate package crun" in str(raised.value)
    assert "It lacks crun, stress-ng, procps; without a network: debootstrap" in str(raised.value)
    assert engine.tagged == ["kitlib-base-import:latest"] == engine.removed
