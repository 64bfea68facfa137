"""Preemption: how many candidates are tried, and that it stops where removing pods would not help."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod


def test_preemption_looks_at_no_more_candidates_than_it_is_told():
    few = Profile.default(DefaultPreemption={"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 2})
    nodes = [node(f"n{i}") for i in range(5)]
    standing = [pod(f"low{i}", "4", on=f"n{i}", priority=0) for i in range(5)]
    assert (
        len(Scheduler(nodes, standing, profile=few).explain(pod("high", "2", priority=9)).post_filter.candidates) == 2
    )


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 1)), max_size=6),
    st.integers(0, 4),
    st.integers(1, 10),
)
def test_less_important_pods_stay_only_where_their_going_would_not_help(standing, priority, cpu):
    pods = [pod(f"s{i}", str(c), on=f"n{n}", priority=p) for i, (p, c, n) in enumerate(standing)]
    nodes = [node("n0", "8"), node("n1", "8")]
    wanted = pod("new", str(cpu), priority=priority)
    decision = Scheduler(nodes, pods).explain(wanted)
    if not decision.suggested_host and not decision.nominated:
        important = [p for p in pods if p.spec.priority >= priority]
        assert not Scheduler(nodes, important).explain(wanted).feasible
