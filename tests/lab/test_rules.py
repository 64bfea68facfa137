"""Rules over a history: what stays, what nobody does, what never happens, and at which moment it counts."""

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab.history import History
from kitlib.lab.rules import RuleSpec, judge

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {"containers": [{"name": "main", "image": "x:1", "resources": {"requests": {"cpu": "500m"}}}]},
}

DECOY = {**POD, "metadata": {"name": "b", "labels": {"app": "a"}}}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD["spec"]}
WORKLOAD = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
}


def broken(rule, act, never=None):
    """What broke a rule while `act` was done; "" = nothing."""
    cluster = Cluster.simulated(nodes=[{"name": "n", "labels": {"zone": "z"}, "taints": ["t=1:PreferNoSchedule"]}])
    cluster.apply(POD)
    cluster.advance(5)
    cluster.journal.clear()
    history = History(cluster)
    act(cluster)
    made = RuleSpec(key="r", title="a rule", **rule)
    return judge([made], history, cluster.journal, {"r": never} if never else {})[0].found


def again(cluster, **amounts):
    cluster.delete("Pod", "a", grace=0)
    main = {**POD["spec"]["containers"][0], "resources": {"requests": amounts}}
    cluster.apply({**POD, "spec": {"containers": [main]}})
    cluster.advance(5)


def there_and_back(cluster):
    cluster.patch("Node", "n", {"metadata": {"labels": {"zone": "y"}}})
    cluster.patch("Node", "n", {"metadata": {"labels": {"zone": "z"}}})


CPU = "Pod a: containers.main.resources"
CASES = [
    ("nothing was done", {"unchanged": ["Node *", "Pod a"]}, lambda c: c.advance(600), ""),
    ("a label was changed and put back", {"unchanged": ["Node *"]}, there_and_back, "metadata.labels is no longer"),
    ("the same, judged at the end", {"unchanged": ["Node *"], "at": "end"}, there_and_back, ""),
    (
        "a taint went",
        {"unchanged": ["Node *"]},
        lambda c: c.patch("Node", "n", {"spec": {"taints": None}}),
        "spec.taints",
    ),
    ("a node was cordoned", {"unchanged": ["Node *"]}, lambda c: c.cordon("n"), "unschedulable"),
    ("a pod was deleted", {"unchanged": ["Pod a"]}, lambda c: c.delete("Pod", "a"), "Pod a is gone"),
    ("a pod was made again alike", {"unchanged": [CPU], "at": "end"}, lambda c: again(c, cpu="0.5"), ""),
    (
        "a pod was made again smaller",
        {"unchanged": [CPU], "at": "end"},
        lambda c: again(c, cpu="0.1"),
        "main.resources",
    ),
    ("another node came", {"unchanged": ["Node *"]}, lambda c: c.add_nodes([{"name": "m"}]), "Node m is new"),
    ("a deletion by hand", {"forbidden": ["delete Pod a*"]}, lambda c: c.delete("po", "a"), "was done by hand"),
    ("a deletion of another", {"forbidden": ["delete Pod b*"]}, lambda c: c.delete("Pod", "a"), ""),
    (
        "a pod of the learner's own",
        {"no_new_pods": True},
        lambda c: (c.apply(DECOY), c.delete("Pod", "b")),
        "Pod b is new",
    ),
    ("a workload of the learner's own", {"no_new_pods": True}, lambda c: c.apply(WORKLOAD), "Deployment web is new"),
    ("a pod that was there, made again", {"no_new_pods": True}, lambda c: again(c, cpu="0.1"), ""),
    ("a kind applied by hand", {"forbidden": ["apply Pod *"]}, lambda c: c.apply(POD), "apply Pod a was done by hand"),
]


@pytest.mark.parametrize(("rule", "act", "found"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_rule(rule, act, found):
    said = broken({key: tuple(one) if isinstance(one, list) else one for key, one in rule.items()}, act)
    assert found in said if found else said == ""


def test_never_looks_at_every_moment():
    def no_pod(moment):
        return "" if moment.get("Pod", "a") else "there was no pod a"

    assert broken({"never": True}, lambda c: c.advance(30), no_pod) == ""
    assert broken({"never": True}, lambda c: again(c, cpu="0.5"), no_pod).startswith("there was no pod a (after")


def test_a_rule_that_names_no_object_is_an_error_of_the_lab():
    with pytest.raises(KitError, match="KIND NAME"):
        broken({"unchanged": ("Pod",)}, lambda c: None)


def test_what_the_labs_own_workloads_make_is_not_added():
    cluster = Cluster.simulated(1)
    cluster.apply(WORKLOAD)
    cluster.advance(5)
    history = History(cluster)
    cluster.patch("Deployment", "web", {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}})
    cluster.advance(30)
    rule = RuleSpec(key="r", title="a rule", no_new_pods=True)
    assert {one.object.kind for one in history.changes} >= {"ReplicaSet", "Pod"}
    assert judge([rule], history, [], {})[0].found == ""
    stranger = {"apiVersion": "v1", "kind": "Deployment", "name": "elsewhere", "uid": "1", "controller": True}
    cluster.apply({**DECOY, "metadata": {"name": "b", "ownerReferences": [stranger]}})
    assert "Pod b is new" in judge([rule], history, [], {})[0].found
