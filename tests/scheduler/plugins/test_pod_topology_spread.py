"""PodTopologySpread: which nodes a constraint leaves, and which it prefers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.api.core import Node, Pod, Taint
from kitlib.api.meta import LabelSelector
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.events import NODE, POD
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.pod_topology_spread import PodTopologySpread, with_label_keys
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APP = {"app": "web"}
TAINT = [{"key": "k", "effect": "NoSchedule"}]
THREE_ZONES = [{"name": "a1", "zone": "a"}, {"name": "a2", "zone": "a"}, {"name": "b1", "zone": "b"}]


def constraint(**fields: Any) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": APP},
        **fields,
    }


def decide(
    nodes: list[dict[str, Any]],
    standing: list[str],
    *constraints: dict[str, Any],
    spec: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    release: str = "1.36",
) -> Decision:
    """The decision about a pod with these constraints; `standing`: node of every matching pod."""
    pods = [pod_of({"name": f"s{i}", "node": node, "labels": APP, "cpu": "1m"}) for i, node in enumerate(standing)]
    wanted = {"topologySpreadConstraints": list(constraints), **(spec or {})}
    pod: Pod = pod_of({"name": "p", "cpu": "1m", "labels": APP if labels is None else labels, "spec": wanted})
    return Scheduler([node_of(one) for one in nodes], pods, release=release).explain(pod)


@pytest.mark.parametrize(
    ("standing", "fields", "feasible"),
    [
        ([], {}, ["a1", "a2", "b1"]),
        (["a1"], {}, ["b1"]),
        (["a1", "a2"], {"maxSkew": 2}, ["b1"]),
        (["a1"], {"maxSkew": 2}, ["a1", "a2", "b1"]),
        (["a1"], {"topologyKey": HOST}, ["a2", "b1"]),
        (["a1", "b1"], {"minDomains": 3}, []),
        ([], {"minDomains": 3}, ["a1", "a2", "b1"]),
        (["a1", "b1"], {"minDomains": 2}, ["a1", "a2", "b1"]),
        (["a1"], {"labelSelector": {"matchLabels": {"app": "other"}}}, ["a1", "a2", "b1"]),
        (["a1"], {"whenUnsatisfiable": "ScheduleAnyway"}, ["a1", "a2", "b1"]),
        (["a1"], {"topologyKey": "rack"}, []),
    ],
    ids=[
        "without a pod every domain is equal",
        "the zone with one pod more is closed",
        "a larger skew closes the zone later",
        "a larger skew leaves the fuller zone open",
        "over hosts only the host itself is closed",
        "too few domains count as an empty one",
        "too few domains and no pod yet: one goes anywhere",
        "enough domains count as they are",
        "pods that the selector does not mean do not count",
        "a soft constraint rejects nothing",
        "nodes without the label are rejected",
    ],
)
def test_a_constraint_leaves_the_nodes_on_which_the_skew_stays_small(
    standing: list[str], fields: dict[str, Any], feasible: list[str]
) -> None:
    assert decide(THREE_ZONES, standing, constraint(**fields)).feasible == feasible


def test_the_reasons_tell_a_missing_label_from_a_skew() -> None:
    nodes = [*THREE_ZONES, {"name": "nowhere"}]
    decision = decide(nodes, ["a1"], constraint())
    assert decision.reasons_of("a2") == ["node(s) didn't match pod topology spread constraints"]
    assert decision.reasons_of("nowhere") == [
        "node(s) didn't match pod topology spread constraints (missing required label)"
    ]


def test_all_constraints_must_hold() -> None:
    decision = decide(THREE_ZONES, ["a1", "b1", "b1"], constraint(), constraint(topologyKey=HOST))
    assert decision.feasible == ["a2"]


@pytest.mark.parametrize(
    ("policy", "release", "feasible"),
    [
        ({}, "1.36", []),
        ({"nodeTaintsPolicy": "Honor"}, "1.36", ["a1", "b1"]),
        ({"nodeTaintsPolicy": "Honor"}, "1.24", []),
    ],
    ids=[
        "a tainted zone counts as empty",
        "with Honor a tainted zone does not count",
        "before 1.25 the policy is not known",
    ],
)
def test_nodes_with_taints_count_unless_the_policy_honours_them(
    policy: dict[str, str], release: str, feasible: list[str]
) -> None:
    nodes = [
        {"name": "a1", "zone": "a"},
        {"name": "b1", "zone": "b"},
        {"name": "c1", "zone": "c", "taints": TAINT},
    ]
    found = decide(nodes, ["a1", "b1"], constraint(**policy), release=release)
    assert found.feasible == feasible


@pytest.mark.parametrize(
    ("policy", "feasible"),
    [({}, ["a1", "b1"]), ({"nodeAffinityPolicy": "Ignore"}, [])],
    ids=["a zone that the pod's selector excludes does not count", "with Ignore it counts as empty"],
)
def test_nodes_that_the_pod_excludes_do_not_count_unless_the_policy_ignores_that(
    policy: dict[str, str], feasible: list[str]
) -> None:
    nodes = [
        {"name": "a1", "zone": "a", "labels": {"disk": "ssd"}},
        {"name": "b1", "zone": "b", "labels": {"disk": "ssd"}},
        {"name": "c1", "zone": "c"},
    ]
    found = decide(nodes, ["a1", "b1"], constraint(**policy), spec={"nodeSelector": {"disk": "ssd"}})
    assert found.feasible == feasible


def test_pods_that_are_terminating_or_in_other_namespaces_do_not_count() -> None:
    elsewhere = pod_of({"name": "there", "node": "a1", "labels": APP, "namespace": "other"})
    leaving = pod_of({"name": "leaving", "node": "a1", "labels": APP})
    leaving.metadata.deletion_timestamp = datetime(2026, 1, 5, 8, tzinfo=UTC)
    scheduler = Scheduler([node_of(one) for one in THREE_ZONES], [elsewhere, leaving])
    asked = pod_of({"name": "p", "labels": APP, "spec": {"topologySpreadConstraints": [constraint()]}})
    assert scheduler.explain(asked).feasible == ["a1", "a2", "b1"]
    scheduler.add_pod(pod_of({"name": "counts", "node": "a1", "labels": APP}))
    assert scheduler.explain(asked).feasible == ["b1"]


def test_a_pod_that_does_not_match_its_own_selector_adds_nothing() -> None:
    decision = decide(THREE_ZONES, ["a1"], constraint(), labels={"app": "other"})
    assert decision.feasible == ["a1", "a2", "b1"]


def test_match_label_keys_count_only_pods_with_the_same_values() -> None:
    old = [pod_of({"name": "old", "node": "a1", "labels": {**APP, "rev": "1"}})]
    scheduler = Scheduler([node_of(one) for one in THREE_ZONES], old)
    asked = pod_of(
        {
            "name": "p",
            "labels": {**APP, "rev": "2"},
            "spec": {"topologySpreadConstraints": [constraint(matchLabelKeys=["rev"])]},
        }
    )
    assert scheduler.explain(asked).feasible == ["a1", "a2", "b1"]


def test_a_soft_constraint_prefers_the_emptier_domain() -> None:
    decision = decide(THREE_ZONES, ["a1", "a2"], constraint(whenUnsatisfiable="ScheduleAnyway"))
    assert decision.scores is not None
    points = dict(zip(decision.feasible, decision.scores.normalized["PodTopologySpread"].tolist(), strict=True))
    assert points["b1"] == 100 and points["a1"] == points["a2"] < 100
    assert decision.suggested_host == "b1"


@pytest.mark.parametrize(
    ("fields", "labels", "feasible"),
    [
        ({}, APP, True),
        ({"minDomains": 2}, APP, True),
        ({"minDomains": 2}, {}, True),
        ({"minDomains": 2, "maxSkew": 1, "labelSelector": {"matchLabels": {"app": "other"}}}, APP, True),
    ],
)
def test_where_no_domain_counts_the_pod_itself_is_the_whole_skew(
    fields: dict[str, Any], labels: dict[str, str], feasible: bool
) -> None:
    """No node is of a domain, because the pod's affinity excludes all of them: the skew is 1, which maxSkew allows.

    Source: podtopologyspread preFilterState.minMatchNum, Filter: `skew > maxSkew`.
    """
    off = Profile.from_configuration({"plugins": {"filter": {"disabled": [{"name": "NodeAffinity"}]}}})
    wanted = {"topologySpreadConstraints": [constraint(**fields)], "nodeSelector": {"disk": "none"}}
    pod: Pod = pod_of({"name": "p", "cpu": "1m", "labels": labels, "spec": wanted})
    decision = Scheduler([node_of(one) for one in THREE_ZONES], [], release="1.36", profile=off).explain(pod)
    assert (decision.feasible == ["a1", "a2", "b1"]) is feasible, decision.message


OWN_DEFAULT = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (None, [(HOST, 3), (ZONE, 5)]),
        ({"defaultingType": "System"}, [(HOST, 3), (ZONE, 5)]),
        ({"defaultingType": "List"}, []),
        ({"defaultingType": "List", "defaultConstraints": [OWN_DEFAULT]}, [(ZONE, 2)]),
    ],
)
def test_which_constraints_pods_without_any_get(arguments: Any, expected: list[tuple[str, int]]) -> None:
    """Source: podtopologyspread systemDefaultConstraints, PodTopologySpreadArgs."""
    plugin = PodTopologySpread(arguments)
    assert [(one.topology_key, one.max_skew) for one in plugin.defaults] == expected


def labelled(value: str | None, *, taint: bool = False) -> Node:
    data = {"name": "a", "labels": {ZONE: value} if value else {}}
    made: Node = node_of(data)
    made.spec.taints = [Taint(key="k", effect="NoSchedule")] if taint else []
    return made


def woken(resource: str, old: Any, new: Any) -> bool:
    """Return what the plugin's queueing hint says of an event, for a pod with one hard constraint."""
    context = Context(Snapshot(), Release("1.36"))
    waiting = pod_of({"name": "p", "labels": APP, "spec": {"topologySpreadConstraints": [constraint()]}})
    hints = PodTopologySpread().events_to_register(context)
    hint: Any = next(hint for event, hint in hints if event.resource == resource)
    return bool(hint(waiting, old, new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, labelled("z1"), True),
        (None, labelled(None), False),
        (labelled("z1"), None, True),
        (labelled(None), None, False),
        (labelled("z1"), labelled("z2"), True),
        (labelled("z1"), labelled("z1"), False),
        (labelled("z1"), labelled(None), True),
        (labelled("z1", taint=True), labelled("z1"), True),
        (labelled(None, taint=True), labelled(None), False),
    ],
)
def test_a_node_of_a_domain_that_comes_goes_or_changes_brings_a_pod_back(
    old: Node | None, new: Node | None, expected: bool
) -> None:
    """Source: podtopologyspread isSchedulableAfterNodeChange."""
    assert woken(NODE, old, new) is expected


OTHER = {"name": "o", "node": "a"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, OTHER | {"labels": APP}, True),
        (OTHER | {"labels": APP}, None, True),
        (None, OTHER, False),
        (OTHER, OTHER | {"labels": APP}, True),
        (OTHER | {"labels": APP}, OTHER | {"labels": APP | {"rev": "2"}}, False),
        (None, OTHER | {"labels": APP, "namespace": "elsewhere"}, False),
    ],
)
def test_a_pod_that_is_counted_and_comes_goes_or_changes_brings_another_back(
    old: Any, new: Any, expected: bool
) -> None:
    """Source: podtopologyspread isSchedulableAfterPodChange."""
    before, after = (pod_of(one) if one is not None else None for one in (old, new))
    assert woken(POD, before, after) is expected


@pytest.mark.parametrize(("minimum", "feasible"), [(None, ["b1"]), (1, ["b1"]), (2, ["b1"]), (3, [])])
def test_with_fewer_domains_than_min_domains_the_smallest_count_is_zero(
    minimum: int | None, feasible: list[str]
) -> None:
    """Source: podtopologyspread minMatchNum. Zones a and b have two and one pod: the skew in b is 1 + 1 - 0."""
    given = {} if minimum is None else {"minDomains": minimum}
    assert decide(THREE_ZONES, ["a1", "a2", "b1"], constraint(**given)).feasible == feasible


def test_a_host_constraint_counts_each_nodes_own_pods_whatever_the_policies() -> None:
    """Source: podtopologyspread Score, which asks each node for its pods."""
    soft = constraint(topologyKey=HOST, whenUnsatisfiable="ScheduleAnyway")
    found = decide(THREE_ZONES, ["a1", "a1", "b1"], soft)
    assert found.suggested_host == "a2"


def test_a_label_key_that_the_selector_names_already_is_not_added_twice() -> None:
    """Source: filterTopologySpreadConstraints; a selector of a created pod has the key already since 1.34."""
    own = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    for keys in (["app"], ["app", "version"], []):
        found = decide(THREE_ZONES, ["a1"], constraint(labelSelector=own, matchLabelKeys=keys))
        assert found.feasible == ["b1"], keys
    other = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]}
    found = decide(THREE_ZONES, ["a1"], constraint(labelSelector=other, matchLabelKeys=["app"]))
    assert found.feasible == ["a1", "a2", "b1"]


def test_match_label_keys_are_added_unless_the_selector_asks_for_the_pods_own_value_already() -> None:
    """Source: podtopologyspread filterTopologySpreadConstraints (mergeLabelSetWithSelector)."""
    made = from_dict({"metadata": {"name": "p", "labels": {"v": "1"}}}, Pod)

    def requirements(operator: str, values: list[str], keys: list[str]) -> list[tuple[str, str, list[str]]]:
        selector = from_dict(
            {"matchExpressions": [{"key": "v", "operator": operator, "values": values}]}, LabelSelector
        )
        found = with_label_keys(selector, keys, made)
        assert found is not None
        return [(one.key, one.operator, one.values) for one in found.match_expressions]

    assert requirements("In", ["1"], ["v"]) == [("v", "In", ["1"])]
    assert requirements("NotIn", ["1"], ["v"]) == [("v", "NotIn", ["1"]), ("v", "In", ["1"])]
    assert requirements("In", ["2"], ["v"]) == [("v", "In", ["2"]), ("v", "In", ["1"])]
    assert requirements("NotIn", ["2"], ["missing"]) == [("v", "NotIn", ["2"])]
    assert with_label_keys(None, ["v"], made) is None
