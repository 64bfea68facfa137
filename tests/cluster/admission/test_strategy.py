"""What the API server drops and fills in before it validates an object depends on the release's gates."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.apps import StatefulSet
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.cluster.admission.apiserver import APIServer

GATE = "MaxUnavailableStatefulSet"
SPEC: dict[str, Any] = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
}


def stateful_set(name: str, **rolling: Any) -> StatefulSet:
    spec = {**SPEC, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    found: StatefulSet = from_dict(
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}
    )
    return found


def unavailable(found: StatefulSet) -> int | str | None:
    rolling = found.spec.update_strategy.rolling_update
    assert rolling is not None
    return rolling.max_unavailable


@pytest.mark.parametrize(
    ("gate", "given", "stored"), [(False, {"maxUnavailable": 2}, None), (True, {"maxUnavailable": 2}, 2), (True, {}, 1)]
)
def test_max_unavailable_follows_the_gate(gate: bool, given: dict[str, Any], stored: int | None) -> None:
    api = APIServer(release=Release("1.36", {GATE: gate}))
    assert unavailable(api.create(stateful_set("s", **given))) == stored
    assert unavailable(api.update(stateful_set("s", **given))) == stored


def test_max_unavailable_that_stands_there_stays_though_the_gate_is_off() -> None:
    api = APIServer(release=Release("1.36", {GATE: True}))
    api.create(stateful_set("s", maxUnavailable=2))
    api.release = Release("1.36")
    assert unavailable(api.update(stateful_set("s", maxUnavailable=3))) == 3
    assert unavailable(api.update(stateful_set("s"))) is None
