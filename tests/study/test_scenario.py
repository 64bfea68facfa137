"""Scenarios as plain data, and one scenario under two releases."""

import pytest

from kitlib.api.errors import KitError, NotFound
from kitlib.api.release import Release
from kitlib.study.compare import compare, describe
from kitlib.study.scenario import ZONE, Scenario, node_of, pod_of

SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ]
}


def test_a_short_node_has_hostname_zone_and_allocatable():
    node = node_of({"name": "n", "zone": "z", "cpu": "500m", "labels": {"disk": "ssd"}})
    assert node.metadata.labels == {"kubernetes.io/hostname": "n", ZONE: "z", "disk": "ssd"}
    assert {name: str(amount) for name, amount in node.status.allocatable.items()} == {
        "cpu": "500m",
        "memory": "16Gi",
        "pods": "110",
    }


def test_a_short_pod_has_defaults_and_a_uid_of_its_own_in_every_namespace():
    pods = [pod_of({"name": "p", "cpu": 1}), pod_of({"name": "p", "namespace": "other"})]
    assert pods[0].spec.scheduler_name == "default-scheduler"
    assert str(pods[0].spec.containers[0].resources.requests["cpu"]) == "1"
    assert len({pod.metadata.uid for pod in pods}) == 2


def test_whole_manifests_are_taken_as_they_are():
    manifest = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], "priority": 7}}
    assert pod_of(manifest).spec.priority == 7
    assert node_of({"metadata": {"name": "n"}}).name == "n"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"nodes": [], "knodes": []}, "scenario: unknown field 'knodes'"),
        ({"nodes": [{"name": "n", "cpus": 4}]}, "node 'n': unknown field 'cpus'"),
        ({"nodes": [{"cpu": 4}]}, "node: name: Required value"),
        ({"nodes": [], "pods": [{"name": "p", "prio": 1}]}, "pod 'p': unknown field 'prio'"),
        ({"nodes": [], "pods": [{}]}, "pod: name: Required value"),
    ],
)
def test_what_cannot_be_read_is_named(data, problem):
    with pytest.raises(KitError, match=problem):
        Scenario.of(data)


def test_a_question_must_be_there():
    nobody = Scenario.of({"nodes": [{"name": "n"}], "pods": [{"name": "p", "node": "n"}]})
    with pytest.raises(KitError, match="no pod is pending"):
        nobody.decide()
    with pytest.raises(NotFound):
        nobody.of_pod("q").decide()


def test_pods_that_wait_before_are_placed_first():
    data = {"nodes": [{"name": "n", "cpu": 2}], "pods": [{"name": "first", "cpu": 2}, {"name": "second", "cpu": 1}]}
    scenario = Scenario.of(data)
    assert scenario.decide().suggested_host == "n"
    assert scenario.of_pod("second").decide().suggested_host == ""
    assert scenario.of_pod("second").decide().pod.spec.node_name == ""


def test_deciding_changes_no_scenario():
    scenario = Scenario.of({"nodes": [{"name": "n", "cpu": 1}], "pods": [{"name": "p", "cpu": 1}]})
    assert [scenario.decide().suggested_host for _ in range(3)] == ["n", "n", "n"]


def test_gates_are_set_where_the_release_knows_them():
    scenario = Scenario.of({"nodes": [], "gates": {"MinDomainsInPodTopologySpread": True}})
    assert not scenario.release("1.23").enabled("MinDomainsInPodTopologySpread")
    assert scenario.release("1.24").enabled("MinDomainsInPodTopologySpread")
    assert not scenario.release("1.24", {"MinDomainsInPodTopologySpread": False}).enabled(
        "MinDomainsInPodTopologySpread"
    )
    by_hand = Release("1.24")
    assert scenario.release(by_hand) is by_hand


def test_a_gate_that_the_release_does_not_have_is_refused():
    scenario = Scenario.of({"nodes": [{"name": "n"}], "pods": [{"name": "p"}]})
    for gate in ("MinDomainsInPodTopologySpread", "NoSuchGate"):
        with pytest.raises(KitError, match=f"unrecognized feature gate: {gate}; 1.23 does not have it"):
            scenario.decide("1.23", gates={gate: True})


def test_a_scenario_is_read_from_a_file_or_a_text(tmp_path):
    text = "title: Small\nnodes: [{name: n}]\npods:\n- {name: p, cpu: 1}\n"
    path = tmp_path / "small.yaml"
    path.write_text(text)
    for source in (path, str(path), text, '{"nodes": [{"name": "n"}], "pods": [{"name": "p"}]}'):
        assert Scenario.read(source).decide().suggested_host == "n"
    assert (Scenario.read(path).name, Scenario.read(text).name) == ("small", "")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("nowhere.yaml", "there is no such file"),
        ("- a\n- b\n", "must be a mapping with nodes, pods and other fields"),
        ("nodes: [\n", "YAML|expected|flow"),
        ("{}", "no pod is pending"),
    ],
)
def test_what_is_no_scenario_is_refused(source, problem):
    with pytest.raises(KitError, match=problem):
        Scenario.read(source).decide()


def test_services_and_budgets_are_objects_of_a_scenario():
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    data = {
        "nodes": [{"name": "n1", "cpu": 1}, {"name": "n2", "cpu": 1}],
        "pods": [
            {"name": "guarded", "node": "n1", "cpu": 1, "labels": {"app": "web"}},
            {"name": "free", "node": "n2", "cpu": 1},
            {"name": "urgent", "cpu": 1, "priority": 10},
        ],
        "budgets": [budget],
    }
    assert Scenario.of(data).decide().nominated == "n2"


def test_a_promised_node_counts_as_taken():
    data = {
        "nodes": [{"name": "n", "cpu": 1}],
        "pods": [{"name": "promised", "cpu": 1, "priority": 5, "nominated": "n"}, {"name": "p", "cpu": 1}],
        "pod": "p",
    }
    scenario = Scenario.of(data)
    assert scenario.scheduler().explain(scenario.question).suggested_host == ""


def test_equal_releases_have_no_difference():
    scenario = Scenario.of({"nodes": [{"name": "n"}], "pods": [{"name": "p"}]})
    same = compare(scenario, "1.30", "1.30")
    assert (same.same_decision, same.words_only, same.gates, same.nodes) == (True, True, {}, [])
    assert same.sentence() == "1.30 and 1.30 decide alike: the pod goes to n."


def test_words_alone_are_told_from_decisions():
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    scenario = Scenario.of({"nodes": [{"name": "n", "taints": [taint]}], "pods": [{"name": "p"}]})
    found = compare(scenario, "1.23", "1.24")
    assert found.words_only
    assert [(one.before, one.after) for one in found.nodes] == [
        (
            "TaintToleration: node(s) had taint {k: v}, that the pod didn't tolerate",
            "TaintToleration: node(s) had untolerated taint {k: v}",
        )
    ]


def test_a_gate_set_by_hand_is_found_as_the_cause():
    pod = {
        "name": "p",
        "labels": {"a": "b"},
        "spec": {"topologySpreadConstraints": [{**SPREAD["topologySpreadConstraints"][0], "minDomains": 2}]},
    }
    data = {"nodes": [{"name": "n", "zone": "z"}], "pods": [{"name": "s", "node": "n", "labels": {"a": "b"}}, pod]}
    gate = "MinDomainsInPodTopologySpread"
    without = Release("1.28").with_gates({gate: False})
    found = compare(Scenario.of(data), without, "1.28")
    assert found.gates == {gate: (False, True)}
    assert found.sentence() == (
        "1.28: the pod goes to n; 1.28: the pod stays pending. This is the feature gate MinDomainsInPodTopologySpread."
    )


def test_every_change_of_behaviour_has_words():
    from kitlib.api.release import GATES

    elsewhere = {
        "KitEmptyPodLevelIgnored",
        "KitMemoryQoSNeedsSettings",
        "KitMemoryReservationPolicy",
        "KitPodResizeValidator",
    }  # not the scheduler's
    own = [gate for gate in GATES if gate.startswith("Kit") and gate not in elsewhere]
    assert [gate for gate in own if describe(gate).startswith("the feature gate")] == []
