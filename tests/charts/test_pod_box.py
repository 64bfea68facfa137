"""Boxes and lids of a pod: their heights are the amounts, on random pods too, and what is not set is drawn open."""

import re

import pytest
from hypothesis import given, strategies

from kitlib.charts.pod_box import HEIGHT, TOP, pod_box, scale_end, stacked, value_at


def row(name="app", **amounts):
    return {
        "name": name,
        "cpu_request": None,
        "cpu_limit": None,
        "memory_request": None,
        "memory_limit": None,
    } | amounts


def drawn(rows, qos="Burstable", **more):
    return pod_box(rows, qos=qos, sentence="What is asked for.", **more)


def height(svg, key):
    found = re.search(rf'data-key="{key}" x="[^"]*" y="([^"]*)" width="[^"]*" height="([^"]*)"', svg)
    return float(found[2]) if found else 0.0


amounts = strategies.one_of(strategies.none(), strategies.integers(1, 64_000))


@given(strategies.lists(strategies.tuples(amounts, amounts), min_size=1, max_size=4), strategies.integers(280, 1000))
def test_a_box_is_as_high_as_its_request_and_its_values_are_those_asked_for(asked, width):
    rows = [
        row(f"c{n}", cpu_request=cpu, memory_request=memory and memory * 2**16) for n, (cpu, memory) in enumerate(asked)
    ]
    svg = drawn(rows, width=width)
    for resource in ("cpu", "memory"):
        end = scale_end(resource, rows)
        for place, one in enumerate(rows):
            amount = one[f"{resource}_request"] or 0
            assert height(svg, f"{place} {resource} box") == pytest.approx(HEIGHT * amount / end, abs=0.06)
            handle = re.search(rf'data-handle="{place} {resource} requests"[^>]*aria-valuenow="(\d+)"', svg)
            assert int(handle[1]) == amount


@given(
    strategies.integers(0, 1000),
    strategies.sampled_from(["cpu", "memory"]),
    strategies.integers(280, 1000),
    strategies.integers(1, 4),
)
def test_a_height_is_read_as_the_amount_that_is_drawn_there(value, resource, width, count):
    lower = 330 if resource == "memory" and stacked(width, count) else 0
    y = lower + TOP + HEIGHT * (1 - value / 1000)
    assert value_at(y, resource, 1000, width=width, count=count) == pytest.approx(value, abs=1e-6)


def test_what_is_not_set_has_neither_box_nor_limit_line():
    svg = drawn([row()], "BestEffort")
    assert svg.count(">no limit</text>") == svg.count(">no request</text>") == 2
    assert 'data-key="0 cpu box"' not in svg and "broken outline" in svg


@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_an_open_lid_is_above_every_line_of_the_scale(resource):
    end = scale_end(resource, [row()])
    ((cpu, _), (memory, _)) = re.findall(
        r'<path d="M[\d.]+ ([\d.]+)H([\d.]+)"[^>]*stroke-dasharray="2 5"', drawn([row()])
    )
    y = float(cpu if resource == "cpu" else memory)
    assert value_at(y, resource, end, width=720, count=1) > end


def test_guaranteed_is_thick_and_besteffort_would_be_broken():
    same = row(cpu_request=500, cpu_limit=500, memory_request=2**28, memory_limit=2**28)
    assert 'stroke-width="3.5"' in drawn([same], "Guaranteed")
    assert 'stroke-width="3.5"' not in drawn([same], "Burstable")


def test_the_rails_say_which_part_of_the_node_it_is():
    one = row(cpu_request=250, cpu_limit=1000, memory_request=2**27)
    svg = drawn([one], node={"cpu": 4000, "memory": 2**33}, pod=one)
    assert "6% reserved, up to 25%" in svg and "2% reserved, no limit" in svg


def test_a_containers_name_cannot_leave_its_text():
    svg = drawn([row(name='a"><script>')])
    assert "<script>" not in svg
