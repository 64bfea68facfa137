"""A horizontal and a vertical autoscaler on one resource: which target lets them come to rest."""

import pytest

from kitlib.lab.autoscaling import both_autoscalers


@pytest.mark.parametrize(
    ("target", "last"), [(50, 10), (90, 3)], ids=["far below the margin", "above what the margin leaves"]
)
def test_the_request_runs_after_the_use_so_only_a_high_target_is_ever_met(target, last):
    rows = both_autoscalers(800, request=400, replicas=2, target=target)
    assert rows[0] == {"round": 1, "replicas": 2, "each uses": 400, "request": 400, "percent": 100}
    assert [row["replicas"] for row in rows[-3:]] == [last] * 3
    assert all(75 <= row["percent"] <= 87 for row in rows[1:]), "the margin is 15%, a bucket 5%"
