"""The types of a KubeSchedulerConfiguration's fields are checked with the path of the wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.scheduler.configuration import check_configuration

PLUGINS = {
    "score": {"enabled": [{"name": "A", "weight": 2}], "disabled": [{"name": "*"}]},
    "filter": None,
    "multiPoint": {"enabled": None},
}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"qps": 1},
        },
        {"parallelism": 16, "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 10, "percentageOfNodesToScore": 0},
        {"profiles": [{"schedulerName": "x", "plugins": PLUGINS, "pluginConfig": [{"name": "A", "args": {"b": [1]}}]}]},
        {"profiles": [{}], "extenders": [{"urlPrefix": 5}]},
    ],
)
def test_a_configuration_with_the_right_types_is_accepted(data: dict[str, Any]) -> None:
    check_configuration(data)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"parallelism": "16"}, "parallelism"),
        ({"podMaxBackoffSeconds": 1.5}, "podMaxBackoffSeconds"),
        ({"percentageOfNodesToScore": True}, "percentageOfNodesToScore"),
        ({"profiles": {}}, "profiles"),
        ({"profiles": [{}, {"schedulerName": 1}]}, "profiles[1].schedulerName"),
        ({"profiles": [{"plugins": {"score": []}}]}, "profiles[0].plugins[...]"),
        ({"profiles": [{"plugins": {"score": {"enabled": [{"weight": 1}]}}}]}, "profiles[0].plugins[...].enabled[0]"),
        (
            {"profiles": [{"plugins": {"score": {"disabled": [{"name": 1}]}}}]},
            "profiles[0].plugins[...].disabled[0].name",
        ),
        ({"profiles": [{"pluginConfig": [{"args": {}}]}]}, "profiles[0].pluginConfig[0]"),
        ({"profiles": [{"pluginConfig": [{"name": "A", "args": []}]}]}, "profiles[0].pluginConfig[0].args"),
        ({"extenders": ["http://x"]}, "extenders[0]"),
        ([], "KubeSchedulerConfiguration"),
    ],
)
def test_a_wrong_type_is_named_with_its_path(data: Any, place: str) -> None:
    with pytest.raises(KitError) as error:
        check_configuration(data)
    assert str(error.value).startswith(f"{place}: ")
