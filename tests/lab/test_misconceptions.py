"""Each question has a wrong answer that people give, with the misconception behind it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kitlib.lab.definition import LabFolder
from kitlib.lab.lessons import content
from kitlib.lab.misconceptions import FILE, behind, notebooks
from tests.notebooks.course import NAMES, right

LABS = sorted(path.parent for path in (Path(__file__).parents[2] / "labs").glob("*/lab.toml"))


@pytest.mark.parametrize("name", NAMES)
def test_each_question_of_a_notebook_has_a_wrong_answer_and_its_misconception(name: str) -> None:
    answers, number = right(name, simulated=True), name.partition("-")[0]
    for key, question in content(name).questions.items():
        found = behind(number, key)
        assert found, f"{number} {key}: write down what people believe who answer it wrongly"
        for wrong, words in found.items():
            assert words.endswith(".") and len(words) > 20
            if question.choices:
                assert wrong in question.choices and wrong != answers[key], (number, key, wrong)
            else:
                assert float(wrong) != float(answers[key]), (number, key, wrong)


@pytest.mark.parametrize("folder", LABS, ids=lambda folder: folder.name)
def test_each_prediction_of_a_lab_has_a_wrong_answer_and_its_misconception(folder: Path) -> None:
    for one in LabFolder.read(folder).definition.predictions:
        found = behind(f"lab {folder.name[:2]}", one.key)
        assert found, f"{folder.name} {one.key}: write down what people believe who answer it wrongly"
        assert all(wrong in one.choices if one.choices else float(wrong) >= 0 for wrong in found)


def test_no_entry_is_left_over() -> None:
    there = {(name.partition("-")[0], key) for name in NAMES for key in content(name).questions}
    there |= {(f"lab {one.name[:2]}", p.key) for one in LABS for p in LabFolder.read(one).definition.predictions}
    written = tomllib.loads(FILE.read_text(encoding="utf-8"))
    assert {(place, key) for place, keys in written.items() for key in keys} == there
    assert notebooks() == [name.partition("-")[0] for name in NAMES]
