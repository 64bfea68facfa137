"""Pods per second of the scheduler's benchmark, every node scored; `kitlib bench scheduler` prints the whole table."""

import pytest

from kitlib.study import bench


@pytest.mark.parametrize("workload", bench.WORKLOADS)
def test_a_hundred_pods_on_a_thousand_nodes(benchmark, workload):
    figures = benchmark.pedantic(lambda: bench.run([workload], [1000], runs=1, pods=100), rounds=2)
    assert figures[0].pods_per_second > 0
