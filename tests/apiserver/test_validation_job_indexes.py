"""Indexed Jobs: lists of indexes, success policies, names of pods, limits. Source: pkg/apis/batch/validation."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.batch import Job
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation.job_indexes import (
    count_indexes,
    validate_index_limits,
    validate_pod_names,
    validate_success_policy,
)


def job(name: str = "j", **spec: Any) -> Job:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    data = {"metadata": {"name": name}, "spec": {"completionMode": "Indexed", "template": template, **spec}}
    return set_defaults(from_dict(data, Job))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("0", 1),
        ("0,2-4", 4),
        ("3-1", "non-increasing order, previous: 3, current: 1"),
        ("2,1", "non-increasing order, previous: 2, current: 1"),
        ("1-1", "non-increasing order, previous: 1, current: 1"),
        ("9", 'too large index: "9"'),
        ("1-9", 'too large index: "9"'),
        ("a", 'cannot convert string to integer for index: "a"'),
        ("1-", 'cannot convert string to integer for index: ""'),
        (
            "1-2-3",
            'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated '
            "by '-'",
        ),
    ],
)
def test_a_list_of_indexes_rises_and_stays_below_the_completions(text: str, expected: int | str) -> None:
    if isinstance(expected, int):
        assert count_indexes(text, 9) == expected
    else:
        with pytest.raises(ValueError) as caught:
            count_indexes(text, 9)
        assert str(caught.value) == expected


RULE = "spec.successPolicy.rules[0]"


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        ([{"succeededIndexes": "0,2", "succeededCount": 2}], ""),
        (
            [],
            "spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is "
            "specified",
        ),
        ([{}], f"{RULE}: Required value: at least one of succeededCount or succeededIndexes must be specified"),
        (
            [{"succeededIndexes": "x"}],
            f'{RULE}.succeededIndexes: Invalid value: "x": error parsing succeededIndexes: cannot convert string to '
            'integer for index: "x"',
        ),
        (
            [{"succeededCount": 5}],
            f"{RULE}.succeededCount: Invalid value: 5: must be less than or equal to 4 (the number of specified "
            "completions)",
        ),
        (
            [{"succeededIndexes": "0,1", "succeededCount": 3}],
            f"{RULE}.succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the "
            "specified succeededIndexes field)",
        ),
    ],
)
def test_a_success_policy_names_indexes_that_there_are(rules: list[dict[str, Any]], error: str) -> None:
    spec = job(completions=4, successPolicy={"rules": rules}).spec
    assert list(map(str, validate_success_policy(spec, "spec.successPolicy"))) == ([error] if error else [])


@pytest.mark.parametrize(
    ("name", "completions", "refused"),
    [("j", 10, ""), ("a.b", 1, "a.b-0"), ("x" * 61, 10, ""), ("x" * 61, 11, "x" * 61 + "-10")],
)
def test_the_last_pods_name_is_a_host_name(name: str, completions: int, refused: str) -> None:
    found = list(map(str, validate_pod_names(job(name, completions=completions))))
    text = f"will not able to create pod with invalid DNS label: {refused}"
    assert found == ([f'metadata.name: Invalid value: "{name}": {text}'] if refused else [])


HIGH = "when completions are above 100000 and used with backoff limit per index"


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"parallelism": 2}, ["spec.completions: Required value: when completion mode is Indexed"]),
        ({"completions": 200_000}, []),
        ({"completions": 200_000, "backoffLimitPerIndex": 1}, [
            "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"]),
        ({"completions": 200_000, "backoffLimitPerIndex": 1, "maxFailedIndexes": 10_001, "parallelism": 10_001}, [
            f"spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 {HIGH}",
            f"spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000 {HIGH}"]),
        ({"completions": 5, "backoffLimitPerIndex": 1, "maxFailedIndexes": 6}, [
            "spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"]),
        ({"completions": 5, "parallelism": 100_001}, [
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is "
            "Indexed"]),
    ],
)  # fmt: skip
def test_many_indexes_have_limits(fields: dict[str, Any], errors: list[str]) -> None:
    assert list(map(str, validate_index_limits(job(**fields).spec, "spec"))) == errors
