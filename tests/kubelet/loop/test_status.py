"""Whether containers are ready, as the kubelet reports them."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.serialize import to_dict
from kitlib.apiserver.http.printers.pods import print_pod
from kitlib.cluster import Cluster


def container(name: str, workload: str) -> tuple[dict[str, str], dict[str, str]]:
    return {"name": name, "image": "x"}, {f"kitlib.dev/workload.{name}": workload}


@pytest.mark.parametrize(
    ("policy", "ready"),
    [("Never", {"init": True, "done": False, "runs": True}), ("Always", {"init": True, "done": False, "runs": True})],
)
def test_a_container_that_has_succeeded_is_ready_only_if_it_is_an_init_container(
    policy: str, ready: dict[str, bool]
) -> None:
    """Source: kubelet prober manager UpdatePodStatus."""
    init, done, runs = container("init", "1s"), container("done", "1s exit=0"), container("runs", "cpu=0.1")
    spec: dict[str, Any] = {"initContainers": [init[0]], "containers": [done[0], runs[0]], "restartPolicy": policy}
    meta = {"name": "p", "annotations": init[1] | done[1] | runs[1]}
    cluster = Cluster.simulated(1)
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    cluster.advance(4)
    status = cluster.pod("p").status
    assert {one.name: one.ready for one in (*status.init_container_statuses, *status.container_statuses)} == ready


def test_the_conditions_of_a_pod_while_it_starts_and_ends() -> None:
    """Source: GeneratePodInitializedCondition, GeneratePodReadyCondition, GenerateContainersReadyCondition."""
    init, first, second = container("init", "3s"), container("first", "6s exit=0"), container("second", "9s exit=0")
    spec: dict[str, Any] = {
        "initContainers": [init[0]],
        "containers": [first[0], second[0]],
        "restartPolicy": "OnFailure",
    }
    meta = {"name": "p", "annotations": init[1] | first[1] | second[1]}
    waits = ("False", "ContainersNotReady", "containers with unready status: [first second]")
    one_waits = ("False", "ContainersNotReady", "containers with unready status: [first]")
    done, over = ("True", "PodCompleted", ""), ("False", "PodCompleted", "")
    shown: list[dict[str, tuple[str, str, str]]] = []
    since: list[dict[str, float]] = []
    listed: list[str] = []
    with Cluster.simulated(1) as cluster:
        start = cluster.now()
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        for seconds in (1, 4, 6, 6):
            cluster.advance(seconds)
            listed.append(print_pod(to_dict(cluster.pod("p")), cluster.now())[2])
            conditions = [one for one in cluster.pod("p").status.conditions if one.type != "PodReadyToStartContainers"]
            shown.append({one.type: (one.status, one.reason, one.message) for one in conditions})
            since.append({one.type: (one.last_transition_time - start).total_seconds() for one in conditions
                          if one.last_transition_time is not None})  # fmt: skip
    text = "containers with incomplete status: [init]"
    holds, names = ("True", "", ""), ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    assert [tuple(one[name] for name in names) for one in shown] == [
        (("False", "ContainersNotInitialized", text), waits, waits, holds),
        (holds, holds, holds, holds),
        (holds, one_waits, one_waits, holds),
        (done, over, over, holds),
    ]
    assert listed == ["Init:0/1", "Running", "NotReady", "Completed"]  # the column STATUS of `kubectl get pods`
    # A condition keeps its time while its status stays, also with another reason.
    assert [one["PodScheduled"] for one in since] == [0, 0, 0, 0]
    assert since[1]["Initialized"] == since[2]["Initialized"] == since[3]["Initialized"] > 0
    assert since[2]["Ready"] == since[3]["Ready"] > since[1]["Ready"]
