"""Validation of Indexed Jobs: success policies, lists of indexes, limits, and pod names.

Source: pkg/apis/batch/validation validateSuccessPolicyRule, validateIndexesFormat, parseIndexInterval, validateJobSpec,
ValidateJob.
"""

from __future__ import annotations

import re

from kitlib.api.batch import Job, JobSpec, SuccessPolicyRule
from kitlib.api.field_errors import (
    Errors,
    invalid,
    required,
    too_long_value,
    too_many,
    validate_nonnegative_field,
)
from kitlib.api.go_values import go_quote
from kitlib.api.names import is_dns1123_label

MAX_RULES = 20
MAX_SUCCEEDED_INDEXES = 64 * 1024
"""The maximum length of succeededIndexes in characters. Source: maxJobSuccessPolicySucceededIndexesLimit."""
MAX_PARALLELISM, MAX_FAILED_INDEXES, COMPLETIONS_SOFT_LIMIT = 100_000, 100_000, 100_000
LIMIT_FOR_HIGH_COMPLETIONS = 10_000
"""The maximum of parallelism and maxFailedIndexes above COMPLETIONS_SOFT_LIMIT, with backoffLimitPerIndex."""
_WHEN_HIGH = f"when completions are above {COMPLETIONS_SOFT_LIMIT} and used with backoff limit per index"


def validate_index_limits(spec: JobSpec, field: str) -> Errors:
    """Check the maximum numbers of indexes, pods and failures of an Indexed Job."""
    found: Errors = []
    completions, failed, parallelism = spec.completions, spec.max_failed_indexes, spec.parallelism
    if completions is None:
        found.append(required(f"{field}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > MAX_PARALLELISM:
        detail = f"must be less than or equal to {MAX_PARALLELISM} when completion mode is Indexed"
        found.append(invalid(f"{field}.parallelism", parallelism, detail))
    place = f"{field}.maxFailedIndexes"
    if completions is not None and failed is not None and failed > completions:
        found.append(invalid(place, failed, "must be less than or equal to completions"))
    if failed is not None and failed > MAX_FAILED_INDEXES:
        found.append(invalid(place, failed, f"must be less than or equal to {MAX_FAILED_INDEXES}"))
    if completions is None or completions <= COMPLETIONS_SOFT_LIMIT or spec.backoff_limit_per_index is None:
        return found
    if failed is None:
        found.append(required(place, f"must be specified when completions is above {COMPLETIONS_SOFT_LIMIT}"))
    for name, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > LIMIT_FOR_HIGH_COMPLETIONS:
            detail = f"must be less than or equal to {LIMIT_FOR_HIGH_COMPLETIONS} {_WHEN_HIGH}"
            found.append(invalid(f"{field}.{name}", value, detail))
    return found


def validate_pod_names(job: Job) -> Errors:
    """Check that the pods of an Indexed Job, named after it, have valid hostnames. Source: ValidateJob."""
    spec = job.spec
    if spec.completion_mode != "Indexed" or not spec.completions or spec.completions < 0:
        return []
    name = f"{job.metadata.name}-{spec.completions - 1}"
    if not is_dns1123_label(name):
        return []
    return [invalid("metadata.name", job.metadata.name, f"will not able to create pod with invalid DNS label: {name}")]


def validate_success_policy(spec: JobSpec, field: str) -> Errors:
    """Source: validateSuccessPolicy."""
    assert spec.success_policy is not None
    rules, place = spec.success_policy.rules, f"{field}.rules"
    if not rules:
        return [required(place, "at least one rules must be specified when the successPolicy is specified")]
    found = [too_many(place, len(rules), MAX_RULES)] if len(rules) > MAX_RULES else []
    for i, rule in enumerate(rules):
        found += _rule(rule, spec.completions or 0, f"{place}[{i}]")
    return found


def _rule(rule: SuccessPolicyRule, completions: int, field: str) -> Errors:
    found: Errors = []
    count, indexes, total = rule.succeeded_count, rule.succeeded_indexes, 0
    if count is None and indexes is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        found.append(required(field, detail))
    if indexes is not None:
        place = f"{field}.succeededIndexes"
        if len(indexes) > MAX_SUCCEEDED_INDEXES:
            found.append(too_long_value(place, MAX_SUCCEEDED_INDEXES))
        try:
            total = count_indexes(indexes, completions)
        except ValueError as error:
            found.append(invalid(place, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        place, detail = f"{field}.succeededCount", "must be less than or equal to"
        found += validate_nonnegative_field(count, place)
        if count > completions:
            found.append(invalid(place, count, f"{detail} {completions} (the number of specified completions)"))
        if indexes is not None and count > total:
            what = "the number of indexes in the specified succeededIndexes field"
            found.append(invalid(place, count, f"{detail} {total} ({what})"))
    return found


def count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in a list such as `0,2-4`.

    Raises:
        ValueError: the indexes are not increasing, too large, or not numbers.

    Source: validateIndexesFormat, parseIndexInterval.
    """
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        parts = interval.split("-")
        if len(parts) > 2:
            rule = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise ValueError(f"the fragment {go_quote(interval)} {rule}")
        first, *rest = (_index(part, completions) for part in parts)
        end = rest[0] if rest else first
        if rest and first >= end:
            raise ValueError(f"non-increasing order, previous: {first}, current: {end}")
        if total and last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def _index(text: str, completions: int) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        raise ValueError(f"cannot convert string to integer for index: {go_quote(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {go_quote(text)}")
    return int(text)
