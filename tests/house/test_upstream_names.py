"""A reader who knows Kubernetes finds a rule by its upstream name, with one search and in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

KITLIB = Path(__file__).parents[2] / "kitlib"
NAMES = {
    "escapeSystemdCgroupName": "escape_systemd",
    "MilliCPUToShares": "milli_cpu_to_shares",
    "MilliCPUToQuota": "milli_cpu_to_quota",
    "ResourceConfigForPod": "resource_config_for_pod",
    "ComputePodQOS": "compute_pod_qos",
    "GetContainerOOMScoreAdjust": "get_container_oom_score_adjust",
    "takeByTopologyNUMAPacked": "take_by_topology_numa_packed",
    "takeByTopologyNUMADistributed": "take_by_topology_numa_distributed",
    "ParseThresholdConfig": "parse_threshold_config",
    "thresholdsMet": "thresholds_met",
    "rankMemoryPressure": "rank_memory_pressure",
    "pickOneNodeForPreemption": "pick_one_node_for_preemption",
    "SelectVictimsOnNode": "select_victims_on_node",
    "PodEligibleToPreemptOthers": "pod_eligible_to_preempt_others",
    "numFeasibleNodesToFind": "num_feasible_nodes_to_find",
    "findNodesThatPassFilters": "find_nodes_that_pass_filters",
    "evaluateNominatedNode": "evaluate_nominated_node",
    "calculateBackoffDuration": "calculate_backoff_duration",
}
"""Upstream's function -> the kit's."""


@pytest.mark.parametrize(("upstream", "name"), NAMES.items(), ids=NAMES.values())
def test_an_upstream_name_leads_to_exactly_one_definition(upstream: str, name: str) -> None:
    definition = re.compile(rf"^\s*def {name}\(", re.MULTILINE)
    found = [
        path.relative_to(KITLIB).as_posix()
        for path in sorted(KITLIB.rglob("*.py"))
        for _ in definition.findall(path.read_text())
    ]
    assert len(found) == 1, f"{upstream}: {found}"
