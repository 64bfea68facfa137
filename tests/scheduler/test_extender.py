"""Extenders filter, score, and fail a pod unless they may be ignored."""

import pytest

from kitlib.api.errors import KitError
from kitlib.scheduler.extender import Extender, ExtenderError
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.storage import NODES, pod


def answers(verb, arguments):
    if verb == "filter":
        return {"nodenames": ["b"], "failedNodes": {"a": "no licence"}}
    return [{"host": "b", "score": 7}]


def test_an_extender_filters_and_scores():
    extender = Extender(call=answers, filter_verb="filter", prioritize_verb="prioritize", weight=2)
    decision = Scheduler(NODES, extenders=[extender]).explain(pod())
    assert decision.feasible == ["b"]
    assert decision.reasons_of("a") == ["no licence"]
    assert decision.scores.normalized["extenders"].tolist() == [140]


def test_an_extender_that_fails_fails_the_pod_unless_it_is_ignorable():
    def broken(verb, arguments):
        raise ValueError("down")

    with pytest.raises(ExtenderError, match="down"):
        Scheduler(NODES, extenders=[Extender(call=broken, filter_verb="filter")]).explain(pod())
    tolerant = Extender(call=broken, filter_verb="filter", ignorable=True)
    assert len(Scheduler(NODES, extenders=[tolerant]).explain(pod()).feasible) == 2


def test_an_extender_is_asked_only_about_what_it_manages():
    extender = Extender(call=answers, filter_verb="filter", managed_resources=["example.com/gpu"])
    assert len(Scheduler(NODES, extenders=[extender]).explain(pod()).feasible) == 2


@pytest.mark.parametrize(
    "data", [{"urlPrefix": "http://x", "prioritizeVerb": "p", "weight": 0}, {"filterVerb": "filter"}]
)
def test_a_wrong_extender_is_refused(data):
    with pytest.raises(KitError):
        Extender.from_configuration(data)
