"""A pod's operating system, and the fields of containers that a Windows pod lacks."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation.pod_os import containers_with_paths, validate_os


def told(**spec: Any) -> list[str]:
    given = {"containers": [{"name": "c"}], **spec}
    return [str(error) for error in validate_os(from_dict({"spec": given}, Pod).spec, "spec")]


@pytest.mark.parametrize(
    ("system", "beginning"),
    [
        (None, ""),
        ({"name": "linux"}, ""),
        ({"name": "windows"}, ""),
        ({"name": ""}, "spec.os.name: Required value"),
        ({"name": "plan9"}, "spec.os: Unsupported value"),
    ],
)
def test_which_systems_there_are(system: dict[str, str] | None, beginning: str) -> None:
    """Source: validateOS."""
    found = told(**({"os": system} if system else {}))
    assert len(found) == bool(beginning)
    assert all(text.startswith(beginning) for text in found)


@pytest.mark.parametrize("where", ["initContainers", "containers", "ephemeralContainers"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("appArmorProfile", {"type": "Unconfined"}),
        ("seLinuxOptions", {"user": "u"}),
        ("seccompProfile", {"type": "Unconfined"}),
        ("capabilities", {"add": ["X"]}),
        ("readOnlyRootFilesystem", False),
        ("privileged", False),
        ("allowPrivilegeEscalation", False),
        ("procMount", "Default"),
        ("runAsUser", 0),
        ("runAsGroup", 0),
    ],
)
def test_containers_of_a_windows_pod(where: str, field: str, value: Any) -> None:
    """Source: validateWindows; a field that is given counts, also if it is false or 0."""
    own = [{"name": "a"}, {"name": "b", "securityContext": {field: value}}]
    expected = f"spec.{where}[1].securityContext.{field}: Forbidden: cannot be set for a windows pod"
    assert told(os={"name": "windows"}, **{where: own}) == [expected]
    assert told(os={"name": "linux"}, **{where: own}) == []


def test_containers_of_all_kinds_have_their_paths() -> None:
    lists = {kind: [{"name": kind[0]}] for kind in ("ephemeralContainers", "initContainers", "containers")}
    spec = from_dict({"spec": lists}, Pod).spec
    assert [(one.name, path) for one, path in containers_with_paths(spec, "f")] == [
        ("i", "f.initContainers[0]"),
        ("c", "f.containers[0]"),
        ("e", "f.ephemeralContainers[0]"),
    ]
