"""`kubectl describe` of workloads, Services, claims, quotas and budgets, compared with the output of kubectl 1.36.

It was recorded with --show-events=false on the kit's own served cluster;
tests/apiserver/http/test_kubectl_describe.py does the same with the kubectl that is there.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.cluster import Cluster
from kitlib.views.kubectl import KINDS, describe
from kitlib.views.tabs import align

OTHERS, *RECORDED = map(json.loads, (Path(__file__).parent / "described.jsonl").read_text().splitlines())


def name_of(case: dict[str, Any]) -> str:
    return f"{case['object']['kind']} {case['object']['metadata']['name']}"


@pytest.mark.parametrize("case", RECORDED, ids=name_of)
def test_as_kubectl_prints_it(case: dict[str, Any]) -> None:
    def others(kind: str) -> list[Any]:
        return list(OTHERS["others"].get(kind, ()))

    with Release("1.36").following():
        text = align(KINDS[case["object"]["kind"]](case["object"], others))
    assert text.splitlines() == case["describe"].rstrip(" \n").splitlines()


def test_every_kind_is_recorded() -> None:
    assert {case["object"]["kind"] for case in RECORDED} == set(KINDS)


def test_a_cluster_describes_its_objects_with_their_events() -> None:
    cluster = Cluster.simulated(1, kubelets=False)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "replicas": 2, "template": template}
    cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    lines = describe(cluster, "web", "deploy").splitlines()
    assert "Replicas:               2 desired | 2 updated | 2 total | 2 available | 0 unavailable" in lines
    assert lines[-1].split()[:2] == ["Normal", "ScalingReplicaSet"]


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_policies_of_a_stateful_set_are_shown_since_1_37(release: str) -> None:
    cluster = Cluster.simulated(1, kubelets=False, release=release)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "serviceName": "db", "template": template}
    cluster.apply({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec})
    lines = [" ".join(line.split()) for line in describe(cluster, "db", "sts").splitlines()]
    new = ["Service Name: db", "Pod Management Policy: OrderedReady"]
    new += ["Persistent Volume Claim Retention Policy:", "WhenDeleted: Retain", "WhenScaled: Retain"]
    assert [line for line in lines if line in new] == (new if release == "1.37" else [])
    if release == "1.37":
        assert lines.index(new[1]) + 1 == lines.index("Replicas: 1 desired | 1 total")
        assert lines[lines.index(new[-1]) + 1].startswith("Pods Status:")


def test_another_kind_is_refused_with_those_that_are_known() -> None:
    cluster = Cluster.simulated(1, kubelets=False)
    with pytest.raises(KitError, match="describe secret s: unsupported kind; valid kinds: Node, Pod, Deployment"):
        describe(cluster, "s", "secret")


@pytest.mark.parametrize(
    ("completed", "shown"),
    [
        ("", "<none>"),
        ("0-9", "0-9"),
        (",".join(str(n) for n in range(100, 114)), ",".join(str(n) for n in range(100, 113)) + ",..."),
        (",".join(str(n) for n in range(100, 113)), ",".join(str(n) for n in range(100, 113))),
    ],
    ids=["none", "short", "the index at the fiftieth character is whole", "it is the last one"],
)
def test_a_long_list_of_indexes_ends_after_the_one_at_the_limit(completed: str, shown: str) -> None:
    """Source: kubectl describe capIndexesListOrNone with a soft limit of 50."""
    spec = {"completionMode": "Indexed", "template": {"spec": {"containers": []}}}
    job = {"kind": "Job", "metadata": {"name": "j"}, "spec": spec, "status": {"completedIndexes": completed}}
    lines = KINDS["Job"](job, lambda kind: []).splitlines()
    assert f"Completed Indexes:\t{shown}" in lines
