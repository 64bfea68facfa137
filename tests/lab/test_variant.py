"""Which variant a learner gets: the instructor's seed, else one of their own that stays."""

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import Lab
from kitlib.lab.progress import Progress
from kitlib.lab.variant import fill_all, learners_seed, values_of


def test_a_learner_keeps_a_seed_and_neighbours_have_others(tmp_path):
    seeds = {name: learners_seed(tmp_path / name) for name in "abcdef"}
    assert seeds == {name: learners_seed(tmp_path / name) for name in "abcdef"}
    assert len(set(seeds.values())) == 6


def test_the_instructor_fixes_the_seed(tmp_path, monkeypatch):
    monkeypatch.setenv("KITLIB_LAB_SEED", "7")
    lab = Lab("09-pending-three-reasons", progress=Progress(tmp_path))
    assert lab.seed == 7 and lab.done()[1].seed == 7
    monkeypatch.setenv("KITLIB_LAB_SEED", "seven")
    with pytest.raises(KitError, match="KITLIB_LAB_SEED: must be a whole number"):
        learners_seed(tmp_path)


def test_seed_0_is_the_first_option_everywhere():
    values = values_of(lambda choose: {"a": choose("x", "y"), "n": choose(1, 2)}, "lab", 0)
    assert fill_all({"$a": ["$n", "${a}-$n"]}, values) == {"x": [1, "x-1"]}
    with pytest.raises(KitError, match="the variant does not define"):
        fill_all("$other", values)
