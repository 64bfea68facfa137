"""Defaults of admission policies."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict


@pytest.mark.parametrize(("given", "expected"), [(None, "Fail"), ("Ignore", "Ignore"), ("Fail", "Fail")])
def test_a_policy_that_cannot_be_evaluated_fails_unless_it_says_otherwise(given: str | None, expected: str) -> None:
    """Source: SetDefaults_ValidatingAdmissionPolicySpec."""
    spec = {"failurePolicy": given} if given else {}
    data = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "spec": spec}
    made: Any = set_defaults(from_dict(data | {"metadata": {"name": "p"}}))
    assert made.spec.failure_policy == expected
