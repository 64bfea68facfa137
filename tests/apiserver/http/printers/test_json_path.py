"""Paths of columns: what they find, and what is an error, as client-go's jsonpath has it."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.http.printers.json_path import json_path

CONDITIONS = [
    {"type": "Ready", "status": "True", "age": 3, "ok": True, "at": {"zone": "a"}},
    {"type": "Synced", "status": "False", "age": 5, "ok": False, "at": {"zone": "b"}},
]
DATA: dict[str, Any] = {
    "metadata": {"annotations": {"example.com/a": "x", "b": "y"}},
    "a": {"x": 1, "y": "text"},
    "n": [1, 2, 3, 4],
    "status": {"conditions": CONDITIONS},
}
READY, SYNCED = CONDITIONS

FOUND: list[tuple[str, list[Any]]] = [
    (".a.x", [1]),
    ("{.a.x}", [1]),
    ("$.a.x", [1]),
    (".a.z.x", []),
    ("['a']['x']", [1]),
    (r".metadata.annotations.example\.com/a", ["x"]),
    (".metadata.annotations['example.com/a']", ["x"]),
    (".a.*", [1, "text"]),
    (".n[0]", [1]),
    (".n[-1]", [4]),
    (".n[1:3]", [2, 3]),
    (".n[::2]", [1, 3]),
    (".n[2:]", [3, 4]),
    (".n[*]", [1, 2, 3, 4]),
    (".n[0,2]", [1, 3]),
    (".a['x','y']", [1, "text"]),
    ("..zone", ["a", "b"]),
    ("..at.zone", ["a", "b"]),
    ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
    ('.status.conditions[?(@.type == "Ready")].status', ["True"]),
    (".status.conditions[?(@.type == 'Ready')].status", ["True"]),
    (".status.conditions[?( @.type=='Synced' )].status", ["False"]),
    ('.status.conditions[?(@.type!="Ready")].status', ["False"]),
    (".status.conditions[?(@.age>3)].type", ["Synced"]),
    (".status.conditions[?(@.age<=3)].type", ["Ready"]),
    (".status.conditions[?(@.ok==true)].type", ["Ready"]),
    (".status.conditions[?(@.at.zone=='b')].type", ["Synced"]),
    (".status.conditions[?(@.status==@.at.zone)].type", []),
    (".status.conditions[?(@.at)].type", ["Ready", "Synced"]),
    (".status.conditions[?(@.none)].type", []),
    ('.status.conditions[?(@.type=="a)b")].type', []),
]
ERRORS = [
    ".n[9]",
    ".a[0]",
    ".a[0:1]",
    ".n[",
    ".n[x]",
    ".n[]",
    ".a[?(@.x==1)]",
    ".status.conditions[?(@.age=='3')]",
    ".status.conditions[?(@.age=!3)]",
    ".status.conditions[?(@.type=='Ready'",
    "!a",
]


@pytest.mark.parametrize(("path", "found"), FOUND)
def test_the_values_at_a_path(path: str, found: list[Any]) -> None:
    assert json_path(DATA, path) == found


@pytest.mark.parametrize("path", ERRORS)
def test_a_path_that_is_invalid_or_does_not_fit(path: str) -> None:
    with pytest.raises(ValueError):
        json_path(DATA, path)
