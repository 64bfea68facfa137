"""Rules over a history: what nobody does, what never happens, and what a lab opens."""

import pytest

from kitlib.cluster import Cluster
from kitlib.lab.history import History
from kitlib.lab.rules import RuleSpec, judge

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {"containers": [{"name": "main", "image": "x:1", "resources": {"requests": {"cpu": "500m"}}}]},
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


CASES = [
    ("nothing was done", {"forbidden": ["delete Pod *"]}, lambda c: c.advance(600), ""),
    ("a deletion by hand", {"forbidden": ["delete Pod a*"]}, lambda c: c.delete("po", "a"), "was done by hand"),
    ("a deletion of another", {"forbidden": ["delete Pod b*"]}, lambda c: c.delete("Pod", "a"), ""),
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


def test_what_a_lab_opens_is_one_rule_more():
    cluster = Cluster.simulated(1)
    history = History(cluster)
    cluster.apply(POD)
    assert judge([], history, cluster.journal, {}) == ()
    (found,) = judge([], history, cluster.journal, {}, {})
    assert (found.rule, found.found, found.kept) == ("opens", "Pod a is new (apply Pod a)", False)
    assert judge([], history, cluster.journal, {}, {"new": ("Pod",)})[0].kept
