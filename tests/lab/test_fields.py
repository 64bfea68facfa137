"""Fields of a manifest by name."""

import pytest

from kitlib.lab.fields import canonical, differences, put

SAME = [
    ("quantities", {"limits": {"cpu": "500m"}}, {"limits": {"cpu": 0.5}}),
    ("the order of named entries", [{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}]),
    ("what is empty and what is missing", {"a": [], "b": "", "c": None, "d": {}, "e": False}, {}),
]
OTHER = [
    ("a field that came in a mapping that came", {}, {"limits": {"cpu": 1}}, [(("limits", "cpu"), False)]),
    ("a named entry that came", [{"name": "a"}], [{"name": "a"}, {"name": "b", "x": 1}], [(("b",), True)]),
    ("a named entry that went", [{"name": "a"}, {"name": "b", "x": 1}], [{"name": "a"}], [(("b",), False)]),
    ("a list without names, as a whole", {"args": ["a"]}, {"args": ["b"]}, [(("args",), False)]),
    ("a second entry of one name", [{"name": "a"}], [{"name": "a"}, {"name": "a"}], [(("a",), False)]),
]


@pytest.mark.parametrize(("before", "now"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_values_that_mean_the_same_do_not_differ(before, now):
    assert list(differences(canonical(before), canonical(now))) == []


@pytest.mark.parametrize(("before", "now", "found"), [case[1:] for case in OTHER], ids=[case[0] for case in OTHER])
def test_a_difference_names_its_path(before, now, found):
    assert list(differences(canonical(before), canonical(now))) == found


def test_put_makes_and_removes():
    made = {"spec": {"containers": [{"name": "main"}]}}
    put(made, "containers.main.resources.limits.cpu", "1")
    put(made, "containers.side", {"name": "side"})
    assert made["spec"]["containers"] == [{"name": "main", "resources": {"limits": {"cpu": "1"}}}, {"name": "side"}]
    put(made, "containers.main", None)
    assert [one["name"] for one in made["spec"]["containers"]] == ["side"]
