"""One scenario under every release, and under two side by side."""

import pytest

from kitlib.api.errors import KitError
from kitlib.api.release import RELEASES, Release
from kitlib.examples.stories import stories, story
from kitlib.widgets.release_difference import ReleaseDifference
from kitlib.widgets.release_switch import ReleaseSwitch


def test_the_slider_walks_through_the_releases():
    switch = ReleaseSwitch("affinity-and-skew", release="1.23")
    assert "1.23: the pod stays pending" in switch.sentence
    switch.release.value = "1.24"
    assert "1.23: the pod stays pending; 1.24: the pod goes to worker4." in switch.sentence
    assert "the skew ignores nodes that the pod's node affinity excludes" in switch.sentence
    assert switch.decision.best == ["worker4"]
    frame = switch.frame()
    assert list(frame["release"].unique()) == list(RELEASES)
    assert list(frame[frame["outcome"] == "best"]["release"]) == list(RELEASES[1:])


def test_gates_of_the_release_are_named():
    switch = ReleaseSwitch("gates", release="1.26")
    assert "NodeInclusionPolicyInPodTopologySpread on" in switch._gates.value
    switch.release.value = "1.23"
    assert "oldest release" in switch._gates.value


@pytest.mark.parametrize("name", stories())
def test_every_story_is_shown(name):
    switch, pair = ReleaseSwitch(name), ReleaseDifference(name, "1.23", "1.36")
    assert (switch.problem, pair.problem) == ("", "")
    assert switch.sentence and pair.sentence
    assert "<svg" in switch._repr_mimebundle_()["text/html"]
    assert "<svg" in pair._repr_mimebundle_()["text/html"]


def test_another_story_is_decided_anew():
    switch = ReleaseSwitch()
    switch.story.value = "06-preemption"
    assert "default/batch-3 must leave n3" in switch.sentence
    assert "victims" in set(switch.frame()["outcome"])


def test_two_releases_and_the_cause():
    pair = ReleaseDifference("min-domains", "1.23", "1.24")
    assert pair.sentence == (
        "1.23: the pod goes to nodeA or nodeK; 1.24: the pod stays pending. "
        "This is the feature gate MinDomainsInPodTopologySpread."
    )
    assert "scheduled on nodeA or nodeK" in pair._told.value and "MinDomainsInPodTopologySpread" in pair._told.value
    pair.after.value = "1.23"
    assert "No gate makes a difference here." in pair._told.value


def test_the_pair_can_be_swapped():
    pair = ReleaseDifference(story("gates"), "1.25", "1.26")
    pair.children[2].children[2].click()
    assert (pair.before.value, pair.after.value) == ("1.26", "1.25")
    assert pair.sentence.startswith("1.26: the pod is gated; 1.25: the pod goes to n1.")


def test_a_release_that_the_kit_does_not_follow_is_refused():
    with pytest.raises(KitError, match=f"the kit follows 1.23 to {Release.latest()}"):
        ReleaseSwitch("gates", release="1.22")
    with pytest.raises(KitError):
        ReleaseDifference("gates", "1.23", "2.0")


def test_buttons_jump_to_the_next_release_that_differs():
    switch = ReleaseSwitch("affinity-and-skew", release="1.23")
    first = switch.decision.suggested_host
    assert switch.before.disabled and not switch.after.disabled
    switch.after.click()
    assert switch.release.value == "1.24" and switch.decision.suggested_host != first
    switch.before.click()
    assert switch.release.value == "1.23"


def test_a_story_that_all_releases_decide_alike_says_so():
    switch = ReleaseSwitch("requests-decide")
    assert "All releases decide this alike." in switch.sentence
    assert switch.before.disabled and switch.after.disabled
