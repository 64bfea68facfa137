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


def test_what_the_status_says_of_mounts_and_resources_of_a_running_container() -> None:
    """Source: kubelet convertToAPIContainerStatuses, convertContainerStatusResources."""
    modes = {"plain": {}, "read": {"readOnly": True}, "if": {"readOnly": True, "recursiveReadOnly": "IfPossible"},
             "all": {"readOnly": True, "recursiveReadOnly": "Enabled"},
             "off": {"readOnly": True, "recursiveReadOnly": "Disabled"}}  # fmt: skip
    mounts = [{"name": "v", "mountPath": f"/{name}", **more} for name, more in modes.items()]
    own = {
        "none": {},
        "tiny": {"requests": {"cpu": "1m"}, "limits": {"cpu": "5m"}},
        "small": {"requests": {"cpu": "2m"}, "limits": {"cpu": "10m"}},
        "usual": {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}},
        "memory": {"requests": {"memory": "32Mi"}, "limits": {"memory": "64Mi"}},
    }
    containers = [{"name": name, "image": "x", "resources": amounts} for name, amounts in own.items()]
    containers[0]["volumeMounts"] = mounts
    cluster = Cluster.simulated(1)
    spec = {"containers": containers, "volumes": [{"name": "v", "emptyDir": {}}]}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    cluster.advance(2)
    statuses = {one.name: to_dict(one) for one in cluster.pod("p").status.container_statuses}
    recursive = {one["mountPath"][1:]: one.get("recursiveReadOnly") for one in statuses["none"]["volumeMounts"][:5]}
    assert recursive == {"plain": None, "read": "Disabled", "if": "Enabled", "all": "Enabled", "off": "Disabled"}
    shown = {name: statuses[name].get("resources", {}) for name in own}
    assert {name: {k: v for k, v in found.items() if v} for name, found in shown.items()} == own


def test_a_running_container_shows_what_the_kernel_holds_during_a_resize() -> None:
    cluster = Cluster.simulated(1)
    resources = {"requests": {"cpu": "250m"}, "limits": {"cpu": "500m"}}
    container_spec = {"name": "c", "image": "x", "resources": resources}
    cluster.apply(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container_spec]}}
    )
    cluster.advance(2)
    cluster.resize("p", {"c": {"requests": {"cpu": "300m"}, "limits": {"cpu": "600m"}}})
    cluster.advance(10)
    (status,) = cluster.pod("p").status.container_statuses
    assert to_dict(status.resources) == {"requests": {"cpu": "300m"}, "limits": {"cpu": "600m"}}
