"""The error of a container that cannot be started carries the reason and the message of its status."""

from __future__ import annotations

from kitlib.api.errors import KitError
from kitlib.kubelet.loop.interfaces import ContainerProblem


def test_the_problem_of_a_container_has_a_reason_and_a_message() -> None:
    problem = ContainerProblem("CreateContainerError", "no room")
    assert isinstance(problem, KitError)
    assert (problem.reason, problem.message, str(problem)) == ("CreateContainerError", "no room", "no room")
