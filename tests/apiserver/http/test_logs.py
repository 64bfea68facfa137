"""`kubectl logs`: the container, the options, and containers that have no log yet."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.http.logs import log_request
from kitlib.apiserver.http.request import Request, Target
from kitlib.apiserver.http.resources import ResourceTable
from kitlib.apiserver.http.status import StatusError

TARGET = Target("", "v1", "n", "pods", "p", "log")
PODS = ResourceTable().find("", "v1", "pods")


class Machine:
    """A node that keeps what is asked of it."""

    def follow(self, namespace: str, pod: str, container: str, heard: Any, options: Any) -> Any:
        return (namespace, pod, container, options)


class Server:
    """A server with one pod and one node."""

    def __init__(self, pod: dict[str, Any], machine: object) -> None:
        self._pod, self._machine = pod, machine
        self.cluster = self

    def get(self, served: Any, namespace: str, name: str) -> dict[str, Any]:
        return self._pod

    def node(self, name: str) -> object:
        return self._machine


def pod(*containers: str, init: tuple[str, ...] = (), node: str = "n1", **status: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": one} for one in containers], "initContainers": [{"name": one} for one in init]}
    known = [{"name": one, "state": {"running": {}}} for one in (*containers, *init)]
    return {"spec": {**spec, "nodeName": node}, "status": {"containerStatuses": known, **status}}


def ask(made: dict[str, Any], machine: object = None, **query: str) -> Any:
    assert PODS is not None
    request = Request("GET", "/", {name: [value] for name, value in query.items()})
    server: Any = Server(made, Machine() if machine is None else machine)
    return log_request(server, PODS, TARGET, request)


def refusal(made: dict[str, Any], **query: str) -> tuple[int, str]:
    with pytest.raises(StatusError) as raised:
        ask(made, **query)
    return raised.value.code, raised.value.message


def test_the_container() -> None:
    """Source: LogLocation."""
    assert ask(pod("a")).container == "a"
    assert ask(pod("a", init=("i",)), container="i").container == "i"
    assert refusal(pod("a"), container="x") == (400, "container x is not valid for pod p")
    choose = "a container name must be specified for pod p, choose one of: [a b]"
    assert refusal(pod("a", "b")) == (400, choose)
    assert refusal(pod("a", "b", init=("i", "j"))) == (400, f"{choose} or one of the init containers: [i j]")


def test_the_options() -> None:
    query = {"follow": "true", "timestamps": "1", "tailLines": "0", "limitBytes": "1"}
    options = ask(pod("a"), **query).options
    assert (options.follow, options.previous, options.timestamps) == (True, False, True)
    assert (options.tail, options.limit, options.since) == (0, 1, 0.0)
    since = ask(pod("a"), sinceTime="2024-01-01T00:00:00Z").options.since
    assert since == 1704067200.0


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"tailLines": "-1"}, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": "0"}, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "0"}, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"sinceSeconds": "1", "sinceTime": "2024-01-01T00:00:00Z"},
            "sinceTime: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
    ],
)
def test_invalid_options(query: dict[str, str], problem: str) -> None:
    """Source: ValidatePodLogOptions."""
    assert refusal(pod("a"), **query) == (422, f'PodLogOptions "p" is invalid: {problem}')


def test_a_time_that_cannot_be_read() -> None:
    assert refusal(pod("a"), sinceTime="soon") == (400, 'parsing time "soon" as RFC 3339: cannot parse')


WAITING = {"waiting": {"reason": "ContainerCreating"}}
ENDED = {"terminated": {"exitCode": 1}}
WHAT = 'container "a" in pod "p"'


@pytest.mark.parametrize(
    ("status", "previous", "problem"),
    [
        ({"state": {"running": {}}}, "", ""),
        ({"state": ENDED}, "", ""),
        ({"state": WAITING}, "", f"{WHAT} is waiting to start: ContainerCreating"),
        ({"state": {"waiting": {"reason": "ErrImagePull"}}}, "", f"{WHAT} is waiting to start: image can't be pulled"),
        (
            {"state": {"waiting": {"reason": "ImagePullBackOff"}}},
            "",
            f"{WHAT} is waiting to start: trying and failing to pull image",
        ),
        ({"state": WAITING, "lastState": ENDED}, "", ""),
        ({"state": {"running": {}}}, "true", 'previous terminated container "a" in pod "p" not found'),
        ({"state": {"running": {}}, "lastState": ENDED}, "true", ""),
    ],
)
def test_a_container_that_has_not_started(status: dict[str, Any], previous: str, problem: str) -> None:
    """Source: validateContainerLogStatus."""
    made = pod("a", containerStatuses=[{"name": "a", **status}])
    if problem:
        assert refusal(made, previous=previous) == (400, problem)
    else:
        assert ask(made, previous=previous).container == "a"


def test_a_pod_without_a_status_or_a_node() -> None:
    assert refusal(pod("a", containerStatuses=[])) == (400, f"{WHAT} is not available")
    assert ask(pod("a", node="", containerStatuses=[])).open(None) is None
    assert ask(pod("a"), machine=object()).open(None) is None
    found = ask(pod("a"))
    assert found.open(None) == ("n", "p", "a", found.options)
