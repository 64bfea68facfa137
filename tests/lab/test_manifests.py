"""A manifest in one line is the manifest that one would type."""

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.kubelet.qos.qos_class import compute_pod_qos
from kitlib.lab.manifests import container, deployment, pod, priority_class, quota, resources, spread


@pytest.mark.parametrize(
    ("made", "qos"),
    [
        (pod("a"), "BestEffort"),
        (pod("a", "500m", "64Mi"), "Burstable"),
        (pod("a", "500m", "64Mi", guaranteed=True), "Guaranteed"),
        (pod("a", cpu_limit="1", memory_limit="64Mi"), "Guaranteed"),
        (pod("a", containers=[container("x", cpu="1"), container("y")]), "Burstable"),
    ],
)
def test_requests_and_limits_make_the_class(made, qos):
    assert compute_pod_qos(set_defaults(from_dict(made))) == qos


def test_what_is_not_given_is_left_out():
    assert resources() == {} and resources(cpu="1") == {"requests": {"cpu": "1"}}
    assert set(pod("a")["spec"]) == {"containers"}
    assert pod("a", nodeName="n")["spec"]["nodeName"] == "n"


def test_a_pod_burns_cpu_uses_memory_or_runs_a_command():
    assert pod("a", busy=3)["spec"]["containers"][0]["command"] == ["stress-ng", "--cpu", "3"]
    uses = pod("a", uses="memory=10Mi")
    assert uses["metadata"]["annotations"] == {"kitlib.dev/workload.main": "memory=10Mi"}
    assert "command" not in uses["spec"]["containers"][0]
    assert container(command="exit 1")["command"] == ["sh", "-c", "exit 1"]


def test_owners_classes_quotas_and_constraints():
    made = deployment("web", 3, pod("web", "100m"))
    assert made["spec"]["selector"]["matchLabels"] == made["spec"]["template"]["metadata"]["labels"] == {"app": "web"}
    assert "name" not in made["spec"]["template"]["metadata"]
    assert priority_class("a", 5, preemptionPolicy="Never")["preemptionPolicy"] == "Never"
    assert quota("q", {"pods": "1"})["spec"]["hard"] == {"pods": "1"}
    assert spread("zone", minDomains=3)["whenUnsatisfiable"] == "DoNotSchedule"
    assert spread("zone", soft=True)["whenUnsatisfiable"] == "ScheduleAnyway"
