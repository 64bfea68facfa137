"""Zones, nodes and pods moved about by hand: counts and skew are those of the plugin."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.errors import Invalid, KitError, NotFound
from kitlib.api.release import Release
from kitlib.examples.stories import story
from kitlib.scheduler.plugins.spread_domains import HOSTNAME
from kitlib.study.scenario import Scenario
from kitlib.study.spread_stage import Spread, UndoHistory


def skews(state):
    return {row["domain"]: (row["counted"], row["skew"], row["allowed"]) for row in state.domains()}


def test_pods_that_the_scheduler_places_spread_evenly():
    state = Spread.grid(3, 2)
    for _ in range(7):
        state, decision = state.place()
        assert decision.suggested_host
    assert sorted(sum(row) for row in state.counts()) == [2, 2, 3]


def test_the_documents_example_before_and_after_1_24():
    told = story("affinity-and-skew")
    before, after = Spread.of(told, "1.23"), Spread.of(told, "1.24")
    assert before.counts() == [[1, 1], [2, 1]]
    assert (before.excluded, before.full) == ({"worker3"}, {"worker", "worker2"})
    assert skews(before) == {"zone1": (2, 1, True), "zone2": (3, 2, False)}
    assert skews(after) == {"zone1": (2, 2, False), "zone2": (1, 1, True)}
    assert (before.decide().suggested_host, after.decide().suggested_host) == ("", "worker4")


def test_too_few_domains_make_the_smallest_count_zero():
    state = Spread.grid(2, 1, placed=("zone1-1", "zone2-1"))
    assert skews(state) == {"zone1": (1, 1, True), "zone2": (1, 1, True)}
    assert skews(state.change(min_domains=3)) == {"zone1": (1, 2, False), "zone2": (1, 2, False)}
    assert state.change(min_domains=3).place()[0].placed == state.placed


def test_schedule_anyway_allows_every_domain():
    state = Spread.grid(2, 1, placed=("zone1-1",) * 3, when_unsatisfiable="ScheduleAnyway")
    assert skews(state) == {"zone1": (3, 4, True), "zone2": (0, 1, True)}


def test_hosts_may_be_the_domains():
    state = Spread.grid(1, 3, placed=("zone1-2",), topology_key=HOSTNAME)
    assert list(skews(state)) == ["zone1-1", "zone1-2", "zone1-3"]
    assert skews(state)["zone1-2"] == (1, 2, False)


def test_tainted_nodes_leave_the_count_where_the_pod_says_so():
    state = Spread.grid(2, 1, placed=("zone1-1",), tainted=frozenset({"zone2-1"}))
    assert state.decide().suggested_host == ""
    assert state.change(node_taints_policy="Honor").decide().suggested_host == "zone1-1"


def test_fields_that_a_release_does_not_know_are_named():
    state = Spread.grid(2, 1, min_domains=3, node_taints_policy="Honor", release=Release("1.23"))
    assert state.ignored() == [
        "minDomains (feature gate MinDomainsInPodTopologySpread)",
        "nodeTaintsPolicy (feature gate NodeInclusionPolicyInPodTopologySpread)",
    ]
    assert state.change(release=Release("1.30")).ignored() == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"max_skew": 0}, "maxSkew: Invalid value: 0: must be greater than zero"),
        ({"min_domains": -1}, "minDomains: Invalid value: -1: must be greater than zero"),
        ({"min_domains": 2, "when_unsatisfiable": "ScheduleAnyway"}, "can only use minDomains if whenUnsatisfiable"),
        ({"when_unsatisfiable": "Never"}, "whenUnsatisfiable: Unsupported value"),
    ],
)
def test_a_constraint_that_the_api_refuses_is_refused_in_its_words(fields, problem):
    with pytest.raises(Invalid, match=problem):
        Spread.grid(2, 1, **fields).decide()


def test_pods_are_added_moved_and_removed_by_hand():
    state = Spread.grid(2, 1).add("zone1-1").add("zone1-1").move("zone1-1", "zone2-1")
    assert state.counts() == [[1], [1]]
    with pytest.raises(KitError, match="no matching pod is on this node"):
        state.remove("zone2-1").remove("zone2-1")
    with pytest.raises(NotFound):
        state.add("zone9-1")
    assert state.toggle("full", "zone1-1").toggle("full", "zone1-1") == state
    assert state.toggle("full", "zone1-1").marks("zone1-1") == ["full"]


def test_a_smaller_cluster_loses_what_stood_on_the_nodes_that_go():
    state = Spread.grid(2, 2, placed=("zone2-2", "zone1-1"), tainted=frozenset({"zone2-1"})).resize(1, 2)
    assert (state.placed, state.tainted) == (("zone1-1",), frozenset())


def test_a_scenario_without_a_constraint_or_zones_is_refused():
    with pytest.raises(KitError, match="topologySpreadConstraints: Required value"):
        Spread.of(story("preemption"))
    with pytest.raises(KitError, match=r"node a: metadata\.labels"):
        Spread.of(story("rounded-scores"))
    with pytest.raises(KitError, match="no pod is pending"):
        Spread.of(Scenario.of({"nodes": []}))


def test_undo_and_redo():
    history = UndoHistory(1)
    for state in (2, 2, 3):
        history.do(state)
    assert history.states() == (1, 2, 3)
    assert (history.undo(), history.undo(), history.undo(), history.can_undo) == (2, 1, 1, False)
    assert (history.redo(), history.can_redo) == (2, True)
    history.do(9)
    assert (history.states(), history.redo()) == ((1, 2, 9), 9)


@settings(max_examples=40)
@given(
    zones=st.integers(1, 4),
    nodes=st.integers(1, 3),
    pods=st.integers(0, 12),
    max_skew=st.integers(1, 3),
    excluded=st.integers(0, 2),
    release=st.sampled_from(["1.23", "1.24", "1.26", "1.36"]),
)
def test_what_the_scheduler_places_keeps_the_skew(zones, nodes, pods, max_skew, excluded, release):
    state = Spread.grid(zones, nodes, max_skew=max_skew, release=Release(release))
    state = state.change(excluded=frozenset(state.nodes[:excluded]))
    for _ in range(pods):
        before = skews(state)
        state, decision = state.place()
        if decision.suggested_host:
            zone = next(zone for zone, names in state.layout if decision.suggested_host in names)
            assert before[zone][2] and before[zone][1] <= max_skew
            assert decision.suggested_host not in state.excluded
