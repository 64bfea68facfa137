"""The parts of messages about violations."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.podsecurity import violations
from kitlib.apiserver.admission.podsecurity.violations import Violation


def test_init_containers_come_first_and_ephemeral_ones_last() -> None:
    """Source: visitContainers."""
    spec = {
        "containers": [{"name": "c"}, {"name": "b", "tty": True}],
        "initContainers": [{"name": "z", "tty": True}],
        "ephemeralContainers": [{"name": "a", "tty": True}],
    }
    made = from_dict({"spec": spec}, Pod).spec
    assert [one.name for one in violations.containers(made)] == ["z", "c", "b", "a"]
    assert violations.names(made, lambda container: container.tty) == ["z", "b", "a"]


@pytest.mark.parametrize(
    ("pod", "bad", "text"),
    [
        (True, [], "pod"),
        (False, ["a"], 'container "a"'),
        (True, ["a"], 'pod and container "a"'),
        (False, ["b", "a"], 'containers "b", "a"'),
        (False, [], ""),
    ],
)
def test_the_places_of_a_value(pod: bool, bad: list[str], text: str) -> None:
    assert violations.setters(pod, bad) == text


def test_words() -> None:
    assert [violations.plural("port", n) for n in (0, 1, 2)] == ["ports", "port", "ports"]
    assert [violations.uses(n) for n in (1, 2)] == ["uses", "use"]
    assert violations.quoted(["b", "a"]) == '"b", "a"'
    assert (str(Violation("r", "d")), str(Violation("r", ""))) == ("r (d)", "r")


@pytest.mark.parametrize(
    ("spec", "user", "windows"),
    [
        ({}, False, False),
        ({"hostUsers": False}, True, False),
        ({"hostUsers": True}, False, False),
        ({"os": {"name": "windows"}}, False, True),
        ({"os": {"name": "linux"}}, False, False),
    ],
)
def test_pods_that_checks_spare(spec: dict[str, object], user: bool, windows: bool) -> None:
    made = from_dict({"spec": spec}, Pod).spec
    assert (violations.in_user_namespace(made), violations.on_windows(made)) == (user, windows)
