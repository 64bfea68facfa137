"""Events live for an hour after they were written last, as kube-apiserver keeps them."""

from __future__ import annotations

from kitlib.cluster import Cluster

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: x}]}
"""
CRASHING = POD.replace("web", "crash").replace("image: x", "image: x, command: [sh, -c, 'sleep 60; exit 1']")


def test_an_event_is_gone_after_an_hour() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(POD)
    assert cluster.events("web")
    cluster.advance(3500)
    assert cluster.events("web")
    cluster.advance(240)
    assert cluster.events("web") == []


def test_an_event_that_is_written_again_stays() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(CRASHING)
    cluster.advance(7200)
    reasons = {event.reason for event in cluster.events("crash")}
    assert "BackOff" in reasons and "Scheduled" not in reasons
