"""The stories: what each claims, before and after the release that changed it, step by step."""

import re

import pytest

from kitlib.api.errors import KitError
from kitlib.api.release import RELEASES
from kitlib.api.serialize import deepcopy
from kitlib.examples.stories import stories, story
from kitlib.study.compare import compare
from kitlib.study.scenario import ZONE, pod_of
from kitlib.study.stepper import Stepper

UNMATCHED = "1 node(s) didn't match Pod's node affinity/selector"


@pytest.mark.parametrize("name", stories())
@pytest.mark.parametrize("release", RELEASES)
def test_every_story_is_decided_under_every_release(name, release):
    told = story(name)
    decision = told.decide(release)
    assert decision.gate or decision.best or decision.message.startswith("0/")
    assert decision.explain() and len(Stepper(decision).steps)
    assert told.title and told.text and told.source


def test_a_story_is_found_with_and_without_its_number():
    assert story("01-affinity-and-skew").title == story("affinity-and-skew").title
    with pytest.raises(KitError, match="no story 'none'; valid values: affinity-and-skew"):
        story("none")


def test_until_1_23_a_node_that_the_pod_must_not_use_counts_and_the_pod_stays_pending():
    before = story("affinity-and-skew").decide("1.23")
    assert before.best == []
    assert before.message == (
        f"0/4 nodes are available: {UNMATCHED}, 1 node(s) didn't match pod topology spread constraints, "
        "2 Insufficient cpu."
    )
    assert {node: [s.plugin for s in before.statuses(node)] for node in before.nodes} == {
        "worker": ["NodeResourcesFit"],
        "worker2": ["NodeResourcesFit"],
        "worker3": ["NodeAffinity"],
        "worker4": ["PodTopologySpread"],
    }


@pytest.mark.parametrize("release", ["1.24", "1.25", "1.30", "1.36"])
def test_from_1_24_it_does_not_count_and_the_pod_goes_to_worker4(release):
    assert story("affinity-and-skew").decide(release).best == ["worker4"]


def test_the_same_change_makes_another_pod_pending():
    told = story("affinity-side-effect")
    assert told.decide("1.23").best == ["worker", "worker2"]
    after = told.decide("1.24")
    assert (after.best, after.nominated) == ([], "")
    assert after.filter_message == (
        f"0/4 nodes are available: 1 Insufficient cpu, {UNMATCHED}, "
        "2 node(s) didn't match pod topology spread constraints."
    )


@pytest.mark.parametrize("name", ["affinity-and-skew", "affinity-side-effect"])
def test_the_cause_is_found_by_switching_changes_one_by_one(name):
    found = compare(story(name), "1.23", "1.24")
    assert not found.same_decision
    assert found.gates == {"KitSpreadHonoursNodeAffinity": (False, True)}
    assert "the skew ignores nodes that the pod's node affinity excludes" in found.sentence()


def test_from_1_26_a_pod_may_ask_for_the_behaviour_of_1_23():
    told = story("affinity-and-skew")
    asking = deepcopy(told.question)
    asking.spec.topology_spread_constraints[0].node_affinity_policy = "Ignore"
    assert told.scheduler("1.36").explain(asking).best == []


def zones(driver):
    """Zone -> names of the pods that stand there, and the skew."""
    nodes = {node.name: node.metadata.labels[ZONE] for node in driver.scheduler.snapshot.nodes}
    found = {zone: [] for zone in nodes.values()}
    for pod in driver.pods.values():
        if pod.spec.node_name:
            found[nodes[pod.spec.node_name]].append(pod.name)
    counts = [len(pods) for pods in found.values()]
    return found, max(counts) - min(counts)


def test_without_min_domains_the_third_pod_joins_one_of_two_zones():
    work = story("without-min-domains").driver("1.24")
    table = []
    for _ in range(3):
        work.step()
        table.append(zones(work))
    assert table == [
        ({"zone1": ["pod1"], "zone2": []}, 1),
        ({"zone1": ["pod1"], "zone2": ["pod2"]}, 0),
        ({"zone1": ["pod1", "pod3"], "zone2": ["pod2"]}, 1),
    ]


def test_with_min_domains_it_waits_and_goes_to_the_third_zone_when_that_is_there():
    told = story("min-domains")
    work = told.driver("1.24")
    for _ in range(3):
        work.step()
    assert zones(work) == ({"zone1": ["pod1"], "zone2": ["pod2"]}, 0)
    assert work.waiting()["unschedulable"] == ["pod3"]
    pending = work.decisions["default/pod3"]
    assert pending.filter_message == "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints."
    work.run(30)
    assert work.waiting()["unschedulable"] == ["pod3"]
    work.add_node(told.later[0])
    work.run(15)
    assert zones(work) == ({"zone1": ["pod1"], "zone2": ["pod2"], "zone3": ["pod3"]}, 0)


@pytest.mark.parametrize(
    ("release", "gates", "waits"),
    [
        ("1.23", {}, False),
        ("1.24", {}, True),
        ("1.24", {"MinDomainsInPodTopologySpread": False}, False),
        ("1.36", {}, True),
    ],
)
def test_min_domains_counts_where_its_gate_is_on(release, gates, waits):
    assert (story("min-domains").decide(release, gates=gates).best == []) is waits


def test_min_domains_is_alpha_in_1_24_and_on_by_default_later():
    from kitlib.api.release import Release

    assert not Release("1.24").enabled("MinDomainsInPodTopologySpread")
    assert Release("1.27").enabled("MinDomainsInPodTopologySpread")


def test_a_tainted_zone_is_left_out_where_the_pod_says_so():
    told = story("tainted-zone")
    assert told.decide("1.25").best == []
    assert told.decide("1.26").best == ["n1", "n2"]
    assert compare(told, "1.25", "1.26").gates == {"NodeInclusionPolicyInPodTopologySpread": (False, True)}


def test_rounded_scores_change_points_but_not_the_node():
    found = compare(story("rounded-scores"), "1.23", "1.24")
    assert found.same_decision and not found.words_only
    assert found.gates == {"KitSpreadScoreRounded": (False, True)}
    points = [int(n) for one in found.nodes for n in re.findall(r"passes, (\d+) points", one.before + one.after)]
    assert len(points) == 2 and points[0] != points[1]


def test_preemption_nominates_in_the_first_cycle_and_places_in_the_second():
    work = story("preemption").driver("1.24")
    first = work.cycle()
    assert (first.nominated, [pod.name for pod in first.victims]) == ("n3", ["batch-3"])
    assert first.message == "0/3 nodes are available: 3 Insufficient cpu."
    work.run(10)
    assert work.decisions["default/urgent"].evaluated_nodes == 0  # only the node that was promised is looked at
    assert work.pod("urgent").spec.node_name == "n3"
    assert "default/batch-3" not in work.pods


def test_a_pod_that_never_preempts_still_goes_first():
    told = story("preemption-never")
    assert told.decide("1.23").message == "0/2 nodes are available: 2 Insufficient cpu."
    assert told.decide("1.24").message == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )
    work = told.driver("1.24")
    work.add_pod(pod_of({"name": "later", "cpu": 1, "priority": 1}))
    assert work.waiting()["activeQ"] == ["patient", "later"]
    work.run(0)
    assert "default/low-1" in work.pods  # nobody left for the one that waits


def test_from_1_24_the_event_says_why_preemption_does_not_help():
    told = story("preemption-messages")
    before, after = told.decide("1.23").message, told.decide("1.24").message
    assert after.removeprefix(before) == (
        " preemption: 0/4 nodes are available: 1 Insufficient cpu, 3 Preemption is not helpful for scheduling."
    )


def test_a_promise_is_cleared_when_a_more_important_pod_takes_the_room():
    work = story("nomination-lost").driver("1.24", exit_after_s=5)
    work.cycle()
    assert work.pod("preemptor").status.nominated_node_name == "n1"
    work.run(2)
    assert work.pod("preemptor").status.nominated_node_name == ""
    work.run(10)
    assert work.pod("emperor").spec.node_name == "n1"
    work.delete_pod("emperor")
    work.add_pod(pod_of({"name": "other", "cpu": 1}))
    work.run(0)
    assert work.pod("preemptor").spec.node_name == "n1"


def test_a_gated_pod_costs_no_cycle_and_leaves_no_event():
    work = story("gates").driver("1.26")
    assert work.run(3600) == []
    assert work.waiting()["gated"] == ["test-pod"]
    assert [entry.reason for entry in work.log] == ["Gated"]
    for left in (1, 0):
        changed = deepcopy(work.pod("test-pod"))
        changed.spec.scheduling_gates = changed.spec.scheduling_gates[:left]
        work.update_pod(changed)
        work.run(1)
        assert bool(work.pod("test-pod").spec.node_name) is (left == 0)


def test_a_release_without_gates_schedules_at_once():
    assert story("gates").decide("1.25").suggested_host == "n1"
    assert compare(story("gates"), "1.25", "1.26").gates == {"PodSchedulingReadiness": (False, True)}


def test_requests_decide_and_limits_do_not():
    told = story("requests-decide")
    outcome = {pod: told.of_pod(pod).decide().suggested_host for pod in ("may-use-8", "asks-nothing")}
    assert outcome == {"may-use-8": "n1", "asks-nothing": "n1"}
    assert told.of_pod("asks-3").decide().filter_message == "0/1 nodes are available: 1 Insufficient cpu."


@pytest.mark.parametrize(
    ("releases", "best"),
    [(("1.23", "1.26", "1.33"), ["n1", "n2", "n3"]), (("1.34",), ["n1", "n2"]), (("1.35", "1.36"), ["n2"])],
)
def test_claims_matter_since_1_34_and_their_first_choice_since_1_35(releases, best):
    for release in releases:
        assert story("devices").decide(release).best == best


def test_the_node_without_devices_says_why_and_the_other_choice_is_taken_when_the_large_one_is_gone():
    told = story("devices")
    decision = told.decide()
    assert decision.reasons_of("n3") == ["cannot allocate all claims"]
    first = told.scheduler()
    assert first.schedule(told.question).suggested_host == "n2"
    second = told.driver()
    large = next(one for one in told.others["claims"] if one.name == "n2-gpu")
    gone = deepcopy(large)
    gone.spec.devices = []
    second.put(gone)
    second.run()
    (claim,) = second.scheduler.context.claims.claims.values()
    assert [(one.request, one.device) for one in claim.status.allocation.devices.results] == [
        ("gpu/small", "gpu-0"),
        ("gpu/small", "gpu-1"),
    ]


def test_switching_the_feature_on_in_1_33_changes_the_decision():
    told = story("devices")
    found = told.decide("1.33", gates={"DynamicResourceAllocation": True})
    assert found.best == []  # the alternatives are a feature of their own there
    assert found.filters.status.message == (
        "resource claim default/gpus, request gpu: has subrequests, but the DRAPrioritizedList feature is disabled"
    )
    both = {"DynamicResourceAllocation": True, "DRAPrioritizedList": True}
    assert told.decide("1.33", gates=both).best == ["n1", "n2"]
