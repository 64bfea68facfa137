"""Overlapping paths of files in one volume."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Volume
from kitlib.apiserver.validation.warnings.volume import overlapping_paths
from tests.apiserver.validation.told import part


def warned(**volume: Any) -> list[str]:
    return list(overlapping_paths([part(Volume, name="v", **volume)]))


def items(*paths: str) -> list[dict[str, str]]:
    return [{"key": "k", "path": path} for path in paths]


@pytest.mark.parametrize(
    ("paths", "pairs"),
    [
        (("a", "b"), []),
        (("a", "a"), [("a", "a")]),
        (("a", "a/b"), [("a/b", "a")]),
        (("a/b", "a"), [("a", "a/b")]),
        (("a/", "a"), [("a", "a")]),
        # Upstream compares characters, not steps.
        (("conf", "config"), [("config", "conf")]),
        (("a", "a", "a"), [("a", "a"), ("a", "a")]),
        (("a", "b", "b/c", "a/d"), [("b/c", "b"), ("a/d", "a")]),
        (("", "a"), []),
    ],
)
def test_paths_of_a_config_map(paths: tuple[str, ...], pairs: list[tuple[str, str]]) -> None:
    """Source: checkForOverlap."""
    expected = [f'volume "v" (ConfigMap "m"): overlapping paths: "{new}" with "{old}"' for new, old in pairs]
    assert warned(configMap={"name": "m", "items": items(*paths)}) == expected


def test_kinds_of_volumes() -> None:
    text = 'overlapping paths: "a/b" with "a"'
    assert warned(secret={"secretName": "s", "items": items("a", "a/b")}) == [f'volume "v" (Secret "s"): {text}']
    assert warned(downwardAPI={"items": [{"path": "a"}, {"path": "a/b"}]}) == [f'volume "v" (DownwardAPI): {text}']
    assert warned(emptyDir={}) == []


def projected(*sources: dict[str, Any]) -> list[str]:
    return warned(projected={"sources": list(sources)})


TOKEN = {"serviceAccountToken": {"path": "a/t"}}


@pytest.mark.parametrize(
    ("sources", "warnings"),
    [
        ([{}], ['volume "v" (Projected) has no sources provided']),
        ([TOKEN], []),
        ([{"configMap": {"name": "m", "items": items("a", "a")}}],
         ['volume "v" (Projected ConfigMap "m"): overlapping paths: "a" with "a"']),
        ([{"configMap": {"name": "m"}}, {"secret": {"name": "s"}}], []),
        ([{"secret": {"name": "s", "items": items("a")}}, TOKEN],
         ['volume "v" (Projected ServiceAccountToken): overlapping paths: "a/t" with "a"']),
        ([TOKEN, {"downwardAPI": {"items": [{"path": "a"}]}}],
         ['volume "v" (Projected DownwardAPI): overlapping paths: "a/t" with "a"']),
        ([TOKEN, {"clusterTrustBundle": {"name": "n", "path": "a/t"}}],
         ['volume "v" (Projected ClusterTrustBundle "n"): overlapping paths: "a/t" with "a/t"']),
        ([TOKEN, {"clusterTrustBundle": {"signerName": "x.y/z", "path": "a/t"}}],
         ['volume "v" (Projected ClusterTrustBundle "x.y/z"): overlapping paths: "a/t" with "a/t"']),
        ([TOKEN, {"clusterTrustBundle": {"name": "n", "path": "b"}}], []),
    ],
)  # fmt: skip
def test_sources_of_a_projected_volume(sources: list[dict[str, Any]], warnings: list[str]) -> None:
    """Source: warningsForOverlappingVirtualPaths."""
    assert projected(*sources) == warnings
