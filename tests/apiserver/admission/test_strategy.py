"""What the API server drops and fills in before it validates an object depends on the release's gates."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.apps import StatefulSet
from kitlib.api.core import PersistentVolumeClaim
from kitlib.api.errors import Invalid
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer

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


def claim(**spec: Any) -> PersistentVolumeClaim:
    fields = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    data = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": fields}
    found: PersistentVolumeClaim = from_dict(data)
    return found


SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
POPULATOR = {"apiGroup": "a.example", "kind": "Populator", "name": "p"}


@pytest.mark.parametrize(
    ("given", "source", "reference"),
    [
        ({"dataSource": SNAPSHOT}, SNAPSHOT, SNAPSHOT),
        ({"dataSource": POPULATOR}, None, None),
        ({"dataSource": {}}, None, None),
        ({"dataSourceRef": POPULATOR}, POPULATOR, POPULATOR),
        ({"dataSourceRef": {**SNAPSHOT, "namespace": "other"}}, None, None),
    ],
)
def test_data_sources_of_claims_follow_each_other(
    given: dict[str, Any], source: dict[str, Any] | None, reference: dict[str, Any] | None
) -> None:
    """Source: EnforceDataSourceBackwardsCompatibility, NormalizeDataSources; no namespaces without their gate."""
    spec = to_dict(APIServer().create(claim(**given)))["spec"]
    assert (spec.get("dataSource"), spec.get("dataSourceRef")) == (source, reference)


def test_a_data_source_that_is_wrong_is_found_in_both_fields() -> None:
    with pytest.raises(Invalid) as refused:
        APIServer().create(claim(dataSource={**SNAPSHOT, "name": ""}))
    assert [str(error) for error in refused.value.errors] == [
        "spec.dataSource.name: Required value",
        "spec.dataSourceRef.name: Required value",
    ]


def test_an_older_client_leaves_the_newer_field_as_it_was() -> None:
    """Source: persistentvolumeclaimStrategy.PrepareForUpdate."""
    api = APIServer()
    stored = to_dict(api.create(claim(dataSource=SNAPSHOT)))
    del stored["spec"]["dataSourceRef"]
    stored["metadata"]["labels"] = {"a": "b"}
    assert to_dict(api.update(from_dict(stored)))["spec"]["dataSourceRef"] == SNAPSHOT
