"""Parts of rows: times, labels, selectors, containers and access modes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.apiserver.http.printers import text

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "age"),
    [
        ("2024-01-01T11:55:00Z", "5m"),
        ("2024-01-01T11:59:30.000000Z", "30s"),
        ("2023-12-29T12:00:00Z", "3d"),
        (None, "<unknown>"),
        ("", "<unknown>"),
        ("soon", "<unknown>"),
    ],
)
def test_ages(moment: str | None, age: str) -> None:
    """Source: translateTimestampSince."""
    assert text.age(moment, NOW) == age
    assert text.created({"metadata": {"creationTimestamp": moment}}, NOW) == age
    assert text.created({}, NOW) == "<unknown>"


@pytest.mark.parametrize(
    ("labels", "shown"), [({"b": "2", "a": "1"}, "a=1,b=2"), ({"a": ""}, "a="), ({}, "<none>"), (None, "<none>")]
)
def test_labels(labels: dict[str, str] | None, shown: str) -> None:
    assert text.labels(labels) == shown


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"a": "b"}}, "a=b"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a"),
    ],
)
def test_selectors(selector: dict[str, Any] | None, shown: str) -> None:
    assert text.selector(selector) == shown


def test_containers_of_a_template() -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}], "initContainers": [{"name": "i"}]}}
    assert text.containers(template) == ("a,b", "x,")
    assert text.containers({}) == ("", "")


@pytest.mark.parametrize(
    ("modes", "shown"),
    [
        (["ReadOnlyMany", "ReadWriteOnce"], "RWO,ROX"),
        (["ReadWriteMany", "ReadWriteMany"], "RWX"),
        (["ReadWriteOncePod"], "RWOP"),
        (["x"], ""),
        (None, ""),
    ],
)
def test_access_modes(modes: list[str] | None, shown: str) -> None:
    assert text.access_modes(modes) == shown


def test_conditions_and_lists() -> None:
    ready = {"type": "Ready", "status": "True"}
    assert text.conditions({"status": {"conditions": [ready]}}) == {"Ready": ready}
    assert text.conditions({}) == {}
    assert (text.joined(["b", "a"]), text.joined([]), text.joined([], "-")) == ("b,a", "<none>", "-")
