"""Nulls, as kubectl prints some in every pod: JSON gives the objects that plain data gives."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kitlib.api.serialize import from_dict, load, load_located, to_dict

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "creationTimestamp": None, "labels": {"a": None, "b": "c"}},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": None}}, "args": ["x", None]}],
        "tolerations": [None],
        "nodeSelector": None,
    },
    "status": {"conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}]},
}
UNKNOWN = {**POD, "spec": {**POD["spec"], "newField": {"a": None}}}
CUSTOM = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": None}}


@pytest.mark.parametrize("data", [POD, UNKNOWN, CUSTOM], ids=["known", "unknown", "custom"])
def test_a_json_text_and_plain_data_give_the_same_object(data: dict[str, Any]) -> None:
    before = copy.deepcopy(data)
    made = from_dict(data)
    assert data == before
    (read,) = load(json.dumps(data))
    assert to_dict(read) == to_dict(made)


def test_the_data_that_is_kept_has_its_nulls() -> None:
    (located,) = load_located(json.dumps(POD), keep_data=True)
    assert located.data == POD
