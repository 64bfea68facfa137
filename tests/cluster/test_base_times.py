"""Absurd times: each is refused in clear words, or counted as Kubernetes counts it; none takes long or raises."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from kitlib.api.clock import LAST
from kitlib.api.errors import KitError, NotFound
from kitlib.cluster import Cluster

LONGEST = 2**63 - 1


def pod(**spec: Any) -> dict[str, Any]:
    inside = {"containers": [{"name": "c", "image": "x"}], "nodeName": "node-1", **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": inside}


@pytest.mark.parametrize("seconds", [1e9, 10**30, 366 * 86400 + 1])
def test_more_than_a_year_does_not_pass_at_once(seconds: float) -> None:
    with (
        Cluster.simulated(1) as cluster,
        pytest.raises(KitError, match=r"at most 31622400 seconds \(366 days\) at once"),
    ):
        cluster.advance(seconds)


@pytest.mark.parametrize("tick", [0, -1, 1e-12, float("nan"), "x"])
def test_a_tick_is_a_millisecond_or_longer(tick: Any) -> None:
    with pytest.raises(KitError, match=r"tick: must be at least 0\.001 seconds"):
        Cluster.simulated(1, tick=tick)


def test_a_cluster_whose_time_is_over_says_so_and_can_be_read() -> None:
    with Cluster.simulated(1, start=LAST) as cluster:
        cluster.apply(pod())
        with pytest.raises(KitError, match="does not pass 9700-01-01"):
            cluster.advance(1)
        assert cluster.get("pod", "web").status.phase == "Running"


@pytest.mark.parametrize("seconds", [2**31, 2**53, LONGEST])
@pytest.mark.parametrize("asked", ["by the pod", "by the client"])
def test_grace_periods_of_64_bits_end_a_pod(seconds: int, asked: str) -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(**({"terminationGracePeriodSeconds": seconds} if asked == "by the pod" else {})))
        cluster.delete("pod", "web", grace=None if asked == "by the pod" else seconds)
        with suppress(NotFound):  # its process ended at once
            cluster.delete("pod", "web", grace=1)
        cluster.advance(5)
        assert not cluster.list("pods")


def test_a_grace_period_of_more_than_64_bits_is_refused() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod())
        with pytest.raises(KitError, match="gracePeriodSeconds: must be a whole number of 64 bits, got 10"):
            cluster.delete("pod", "web", grace=10**30)
        assert cluster.get("pod", "web").metadata.deletion_timestamp is None


@pytest.mark.parametrize(("seconds", "stays"), [(2, False), (2**31, True), (LONGEST, True)])
def test_a_toleration_of_64_bits_is_for_ever_where_it_wraps(seconds: int, stays: bool) -> None:
    one = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(tolerations=[one], terminationGracePeriodSeconds=1))
        cluster.patch("node", "node-1", {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}})
        cluster.advance(10)
        assert bool(cluster.list("pods")) == stays
        assert not [event.message for event in cluster.events() if "Error" in event.message]


@pytest.mark.parametrize(("seconds", "runs"), [(2**31, True), (LONGEST, False)])
def test_a_jobs_deadline_of_64_bits_wraps_as_upstreams_does(seconds: int, runs: bool) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    spec = {"activeDeadlineSeconds": seconds, "template": template}
    with Cluster.simulated(1) as cluster:
        cluster.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec})
        cluster.advance(5)
        assert bool(cluster.get("job", "j").status.active) == runs
        assert not [event.message for event in cluster.events() if "Error" in event.message]
