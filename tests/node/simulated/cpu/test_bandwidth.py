"""A quota slice by slice: what the pool, the processors and the timers do, as the kernel's sources have it."""

from kitlib.node.simulated.cpu.bandwidth import CfsBandwidth

MS = 1_000_000
PERIOD = 100 * MS


def test_a_processor_takes_a_slice_of_5_ms_and_gives_back_all_but_1_ms() -> None:
    pool = CfsBandwidth(50 * MS, PERIOD)
    pool.enqueue(0, 0)
    assert (pool.runtime, pool.remaining[0], pool.ends) == (45 * MS, 5 * MS, PERIOD)
    pool.charge(0, 2 * MS)
    pool.dequeue(0, 2 * MS)
    assert (pool.runtime, pool.remaining[0]) == (47 * MS, 1 * MS)


def test_what_was_used_too_much_is_owed_in_the_next_period() -> None:
    pool = CfsBandwidth(5 * MS, PERIOD)
    pool.enqueue(0, 0)
    pool.charge(0, 8 * MS)
    pool.tick(0, 8 * MS)
    assert pool.throttled == {0: 8 * MS}
    pool.end_period(PERIOD)
    assert not pool.throttled
    assert (pool.nr_periods, pool.nr_throttled, pool.throttled_time) == (1, 1, 92 * MS)
    assert (pool.runtime, pool.remaining[0]) == (2 * MS - 1, 1)


def test_a_debt_beyond_the_quota_keeps_it_throttled_for_another_period() -> None:
    pool = CfsBandwidth(2 * MS, PERIOD)
    pool.enqueue(0, 0)
    pool.charge(0, 7 * MS)
    pool.tick(0, 4 * MS)
    for end in (1, 2):
        pool.end_period(end * PERIOD)
        assert list(pool.throttled) == [0]
    pool.end_period(3 * PERIOD)
    assert not pool.throttled
    assert (pool.nr_periods, pool.nr_throttled) == (3, 3)


def test_periods_count_until_one_passes_in_which_nobody_took_of_the_quota() -> None:
    pool = CfsBandwidth(50 * MS, PERIOD)
    pool.enqueue(0, 30 * MS)
    pool.dequeue(0, 40 * MS)
    pool.end_period(PERIOD)
    assert pool.ends == 2 * PERIOD
    pool.end_period(2 * PERIOD)
    assert pool.ends is None
    assert (pool.nr_periods, pool.nr_throttled) == (2, 0)


def test_what_one_processor_gives_back_goes_to_a_throttled_one_5_ms_later() -> None:
    pool = CfsBandwidth(10 * MS, PERIOD)
    for cpu in (0, 1, 2):
        pool.enqueue(cpu, 0)
    assert list(pool.throttled) == [2]
    pool.charge(0, 1 * MS)
    pool.dequeue(0, 1 * MS)
    assert pool.slack_at is None, "3 ms are no slice"
    pool.charge(1, 1 * MS)
    pool.dequeue(1, 1 * MS)
    assert pool.slack_at == 6 * MS
    pool.pass_on(6 * MS)
    assert not pool.throttled
    assert pool.remaining[2] == 1


def test_shortly_before_the_end_of_a_period_nothing_is_passed_on() -> None:
    pool = CfsBandwidth(10 * MS, PERIOD)
    for cpu in (0, 1, 2):
        pool.enqueue(cpu, 90 * MS)
    pool.dequeue(0, 94 * MS)
    pool.dequeue(1, 94 * MS)
    assert pool.slack_at is None


def test_with_a_burst_what_was_not_used_is_kept_and_its_use_counted() -> None:
    pool = CfsBandwidth(50 * MS, PERIOD, 30 * MS)
    pool.enqueue(0, 0)
    pool.charge(0, 1 * MS)
    pool.dequeue(0, 1 * MS)
    pool.end_period(PERIOD)
    assert pool.runtime == 80 * MS
    pool.remaining[0] = 0
    for _ in range(14):
        pool.tick(0, PERIOD)
        pool.charge(0, 5 * MS)
    pool.end_period(2 * PERIOD)
    assert (pool.nr_burst, pool.burst_time) == (1, 20 * MS)
