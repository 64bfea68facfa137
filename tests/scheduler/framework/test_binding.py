"""The binding cycle: Reserve, Permit, PreBind, Bind, and what happens where one of them refuses."""

import pytest

from kitlib.api.errors import KitError
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod
from tests.scheduler.recorder import Recorder, recording


def points(decision, plugin="Recorder"):
    return [point for point, name, _ in decision.binding.asked if name == plugin]


def test_a_placed_pod_passes_every_point_of_the_binding_cycle():
    decision = Scheduler([node("a")], profile=recording()).schedule(pod("p"))
    assert decision.suggested_host == "a" and decision.binding.status.ok
    # DefaultBinder stands before the own plugin and binds; the second Bind plugin is not asked
    assert points(decision) == ["Reserve", "Permit", "PreBind", "PostBind"]
    assert points(decision, "DefaultBinder") == ["Bind"]


@pytest.mark.parametrize("point", ["Reserve", "Permit", "PreBind"])
def test_a_pod_that_is_refused_on_the_way_loses_its_place(point):
    scheduler = Scheduler([node("a")], profile=recording(point))
    decision = scheduler.schedule(pod("p"))
    assert decision.suggested_host == "" and decision.message == f"no at {point}"
    assert points(decision)[-1] == "Unreserve"
    assert scheduler.snapshot.requested["cpu"].sum() == 0


def test_an_own_bind_plugin_comes_first_where_it_is_enabled_at_bind():
    bind = {"disabled": [{"name": "DefaultBinder"}], "enabled": [{"name": "Recorder"}]}
    own = Profile.from_configuration({"plugins": {"bind": bind}}, own=[Recorder])
    decision = Scheduler([node("a")], profile=own).schedule(pod("p"))
    assert points(decision) == ["Bind"], "enabled at bind, it takes part nowhere else"


def test_without_a_bind_plugin_nothing_is_bound():
    own = Profile.from_configuration({"plugins": {"bind": {"disabled": [{"name": "*"}]}}})
    decision = Scheduler([node("a")], profile=own).schedule(pod("p"))
    assert decision.suggested_host == "" and decision.message == "no plugin binds the pod"


def test_a_pod_that_permit_holds_keeps_its_place_until_it_is_allowed_or_rejected():
    scheduler = Scheduler([node("a", "1")], profile=recording("wait"))
    first, second = pod("first", "800m"), pod("second", "800m")
    assert scheduler.schedule(first).binding.waits
    assert [p.name for p in scheduler.waiting] == ["first"]
    assert not scheduler.schedule(second).suggested_host
    assert scheduler.reject(first).suggested_host == ""
    assert scheduler.schedule(second).binding.waits
    assert scheduler.allow(second).binding.status.ok
    assert scheduler.waiting == []
    with pytest.raises(KitError, match="does not wait"):
        scheduler.allow(second)
