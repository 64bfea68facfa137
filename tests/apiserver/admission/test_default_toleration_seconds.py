"""Pods tolerate a node that is not ready or unreachable for five minutes, unless they say otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.default_toleration_seconds import DefaultTolerationSecondsPlugin
from tests.apiserver.admission.writes import pod, write

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def added(*keys: str) -> list[dict[str, Any]]:
    return [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in keys]


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY, "operator": "Exists", "effect": "NoExecute"}], [UNREACHABLE]),
        ([{"key": UNREACHABLE, "operator": "Exists"}], [NOT_READY]),
        ([{"key": UNREACHABLE, "operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"key": "other", "operator": "Exists"}], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY, "operator": "Equal", "value": "x", "effect": "NoExecute"}], [UNREACHABLE]),
    ],
)
def test_tolerations_are_added_for_taints_without_one(given: list[dict[str, Any]], keys: list[str]) -> None:
    """Source: defaulttolerationseconds Plugin.Admit."""
    new = pod(tolerations=given)
    DefaultTolerationSecondsPlugin().admit(*write(new))
    assert to_dict(new)["spec"].get("tolerations", []) == [*given, *added(*keys)]


def test_a_change_that_replaces_the_tolerations_gets_them_again() -> None:
    """Source: NewDefaultTolerationSeconds, which handles updates too: otherwise validation would refuse the removal."""
    api = APIServer()
    made = to_dict(api.create(pod()))
    mine = {"key": "mine", "operator": "Equal", "value": "x", "effect": "NoSchedule"}
    made["spec"]["tolerations"] = [mine]
    assert to_dict(api.update(from_dict(made)))["spec"]["tolerations"] == [mine, *added(NOT_READY, UNREACHABLE)]
