"""Defaults are found by an object's type, and loaded with the first object of it."""

from __future__ import annotations

from importlib import import_module

import pytest

from kitlib.api import defaults
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import from_dict


@pytest.mark.parametrize(("kind", "rule"), defaults.RULES.items())
def test_a_rule_stands_where_the_table_says(kind: str, rule: str) -> None:
    module, _, name = kind.partition(".")
    found = getattr(import_module(f"kitlib.api.{module}"), name)
    assert issubclass(found, KubeObject) and found.__module__ == f"kitlib.api.{module}"
    assert callable(defaults._rule_of(found)) and defaults._rule_of(found).__name__ == rule.partition(".")[2]


def test_a_type_without_defaults_stays_as_it_is() -> None:
    made = from_dict({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    assert defaults.set_defaults(made) == from_dict(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    )
