"""Arithmetic that is evaluated and shown: the value and the text come from one expression."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.conversions import (
    SHARES,
    WEIGHT,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    quota_formula,
    shares_formula,
    shares_to_weight,
    shares_to_weight_by_runtime,
    whole_percent_quota,
)
from kitlib.kubelet.cm.formula import Formula, Step
from kitlib.kubelet.cm.memory_qos import memory_high, memory_high_formula
from kitlib.kubelet.cm.node_allocatable import Reservations, left_formula, pods_limit
from kitlib.kubelet.cm.swap import limited_swap, limited_swap_formula
from kitlib.kubelet.config.machine import MachineInfo


@pytest.mark.parametrize(
    ("expression", "values", "result"),
    [
        ("floor(a / b)", (7, 2), 3),
        ("ceil(a / b)", (7, 2), 4),
        ("ceil(a / b)", (8, 2), 4),
        ("floor(a * b / 1000)", (2**62, 999), 2**62 * 999 // 1000),
        ("floor(a / b * c)", (1, 3, 3), 1),
        ("min(max(a, 2), 10)", (1,), 2),
        ("min(max(a, 2), 10)", (11,), 10),
        ("b - a", (5, 2), 3),
    ],
)
def test_quotients_within_floor_and_ceil_are_exact_and_names_are_in_order(expression, values, result):
    assert Step("x", expression)(*values) == result


def test_numbers_are_put_in_and_what_changes_nothing_is_left_out():
    assert str(Formula({"milli": 2000}, (SHARES, WEIGHT), "{weight}")) == (
        "shares = floor(2000 × 1024 / 1000) = 2048; weight = 1 + floor((2048 − 2) × 9999 / 262142) = 79"
    )
    assert str(Formula({"milli": 1}, (SHARES,), "{shares}")) == "shares = max(floor(1 × 1024 / 1000), 2) = 2"
    rest = Step("left", "max(whole - kube - system, 0)")
    assert str(Formula({"whole": 9, "kube": 0, "system": 4}, (rest,), "{left}")) == "left = 9 − 4 = 5"
    assert str(Formula({"whole": 3, "kube": 0, "system": 4}, (rest,), "{left}")) == "left = max(3 − 4, 0) = 0"
    assert str(Formula({"a": 0.9, "b": Fraction(3)}, (Step("c", "floor(a * b)"),), "{c}")) == ("c = floor(0.9 × 3) = 2")


@settings(max_examples=50)
@given(st.integers(0, 3 * 10**8), st.integers(1000, 10**6), st.sampled_from([1, 2]), st.booleans())
def test_conversions_write_what_their_formula_shows(milli, period, version, flag):
    shares = milli_cpu_to_shares(milli)
    weight = (shares_to_weight_by_runtime if flag else shares_to_weight)(shares)
    written = shares if version == 1 else weight
    assert shares_formula(milli, version, curve=flag).result() == str(written)
    if milli:
        quota = milli_cpu_to_quota(milli, period)
        kept = whole_percent_quota(quota, period) if flag else quota
        assert quota_formula(milli, period, version, percent=flag).result() == (
            f"{kept} {period}" if version == 2 else str(kept)
        )


@settings(max_examples=50)
@given(
    st.integers(0, 2**40),
    st.integers(1, 2**40),
    st.sampled_from([0.1, 0.7, 0.8, 0.9, 1.0]),
    st.sampled_from([4096, 65536]),
)
def test_memory_files_hold_what_their_formula_shows(request, limit, factor, page):
    high = memory_high(request, limit, factor, 0, page)
    if high:
        assert memory_high_formula(request, limit, factor, 0, page).result() == str(high)
    if request <= limit:
        assert limited_swap_formula(request, limit, 8 << 30).result() == str(limited_swap(request, limit, 8 << 30))


@pytest.mark.parametrize("kube", ["1500m", "1G", "9Gi"])
@pytest.mark.parametrize("system", ["1500m", "0", "1Mi"])
def test_the_memory_for_pods_is_what_its_formula_shows(kube, system):
    machine = MachineInfo.declare(4, "8Gi")
    reserved = Reservations({"memory": Quantity(kube)}, {"memory": Quantity(system)})
    limit = pods_limit(machine, reserved)["memory"].value()
    assert left_formula("memory", machine, reserved).result() == str(limit)


def test_a_step_with_the_same_numbers_is_shown_without_another_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node's tree shows some two hundred steps, many with the same numbers."""
    step = Step("shares", "min(max(floor(milli * 1024 / 1000), 2), 262144)")
    first = step.shown({"milli": 500, "other": 1})
    monkeypatch.setattr("kitlib.kubelet.cm.formula.ast.parse", None)
    assert step.shown({"milli": 500, "other": 2}) == first == "floor(500 × 1024 / 1000)"
