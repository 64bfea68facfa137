"""A served cluster has the FlowSchemas and priority levels that every API server makes."""

from __future__ import annotations

from kitlib.api.flowcontrol import FlowSchema, PriorityLevelConfiguration
from kitlib.apiserver.admission.flow_control import flow_control
from kitlib.apiserver.validation import validate
from tests.controllers.builders import hollow


def test_all_are_valid_and_every_schema_names_a_level() -> None:
    made = flow_control()
    assert [error for one in made for error in validate(one)] == []
    levels = {one.name for one in made if isinstance(one, PriorityLevelConfiguration)}
    schemas = [one for one in made if isinstance(one, FlowSchema)]
    assert len(levels) == 8 and len(schemas) == 13
    assert {one.spec.priority_level_configuration.name for one in schemas} == levels
    assert [one.spec.matching_precedence for one in schemas] == sorted(one.spec.matching_precedence for one in schemas)


def test_a_served_cluster_has_them_once() -> None:
    cluster = hollow(1)
    assert cluster.list("FlowSchema") == []
    for _ in range(2):
        cluster.api.enable_service_accounts("00" * 32, "-----BEGIN CERTIFICATE-----")
        cluster.settle()
    assert len(cluster.list("FlowSchema")) == 13
    level = cluster.get("PriorityLevelConfiguration", "workload-low").spec.limited
    assert (level.nominal_concurrency_shares, level.lendable_percent) == (100, 90)
    assert level.limit_response.queuing.queue_length_limit == 50
    assert cluster.get("PriorityLevelConfiguration", "exempt").spec.exempt.nominal_concurrency_shares == 0
