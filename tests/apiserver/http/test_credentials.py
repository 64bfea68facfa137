"""Kubeconfigs: what a killed process has left in the user's own is removed at the next start."""

from __future__ import annotations

import socket
from pathlib import Path

import yaml

from kitlib.apiserver.http.credentials import kubeconfig, merge_kubeconfig, new_certificate, remove_dead_context

OTHER = {"name": "work", "cluster": {"server": "https://example.com"}}


def test_a_dead_context_goes_and_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "clusters": [OTHER]}))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"https://127.0.0.1:{server.getsockname()[1]}"
        merge_kubeconfig(path, kubeconfig(address, new_certificate(), "t"))
        assert not remove_dead_context(path, "kitlib"), "a server answers there"
    assert remove_dead_context(path, "kitlib")
    left = yaml.safe_load(path.read_text())
    assert left["clusters"] == [OTHER] and left["users"] == left["contexts"] == []
    assert not remove_dead_context(path, "kitlib")


def test_without_a_kubeconfig_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert not remove_dead_context(tmp_path / "none", "kitlib")
