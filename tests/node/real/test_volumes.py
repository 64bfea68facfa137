"""Files of volumes on a real node: replaced at once, and never reached through a link that a pod has put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.kubelet.pods.volume_files import VolumeFile
from kitlib.node.real.volumes import open_below, write

ME = os.getuid()


def test_files_are_links_into_the_present_version(tmp_path: Path) -> None:
    place = tmp_path / "v"
    write(str(place), {"a": VolumeFile(b"1", 0o400), "dir/b": VolumeFile(b"2", 0o644)}, ME)
    assert (place / "a").read_bytes() == b"1" and (place / "dir/b").read_bytes() == b"2"
    assert (place / "a").stat().st_mode & 0o777 == 0o400
    assert os.readlink(place / "a") == "..data/a"
    write(str(place), {"a": VolumeFile(b"3", 0o644)}, ME)
    assert (place / "a").read_bytes() == b"3"
    assert sorted(os.listdir(place)) == ["..2", "..data", "a"]


def test_a_part_of_a_volume_is_made_where_it_is_not_there(tmp_path: Path) -> None:
    os.close(open_below(str(tmp_path), "a/b"))
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o777


def test_a_link_that_a_pod_has_made_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/")
    for path in ("out", "out/etc"):
        with pytest.raises(OSError, match="out"):
            open_below(str(tmp_path), path)
    with pytest.raises(KitError, match="must not contain"):
        open_below(str(tmp_path), "../x")
