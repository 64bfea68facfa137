"""The parts of a request: numbers and options of the query, and resource paths."""

from __future__ import annotations

from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from kitlib.apiserver.http.request import Request, Target, mapping, parse_path
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import ADMINISTRATOR


def asked(headers: dict[str, str] | None = None, **query: Any) -> Request:
    values = {name: value if isinstance(value, list) else [value] for name, value in query.items()}
    return Request("GET", "/", values, headers or {})


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("+5", 5), ("-5", -5), ("0", 0), ("", 7), (str(2**63 - 1), 2**63 - 1), (str(-(2**63)), -(2**63))],
)
def test_a_number(text: str, number: int) -> None:
    assert asked(n=text).number("n", 7) == number
    assert asked().number("n") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        (str(2**63), f'strconv.ParseInt: parsing "{2**63}": value out of range'),
        ("9" * 30, f'strconv.ParseInt: parsing "{"9" * 30}": value out of range'),
        ("x" * 50, f'strconv.ParseInt: parsing "{"x" * 40}": invalid syntax'),
    ],
)
def test_a_text_that_is_not_a_number(text: str, problem: str) -> None:
    with pytest.raises(StatusError) as raised:
        asked(n=text).number("n")
    assert (raised.value.code, raised.value.message) == (400, problem)


@pytest.mark.parametrize(("text", "version"), [("", 0), ("0", 0), ("7", 7), (str(2**64 - 1), 2**64 - 1)])
def test_a_resource_version(text: str, version: int) -> None:
    """Source: ParseResourceVersion."""
    assert asked(resourceVersion=text).resource_version == version


@pytest.mark.parametrize(
    ("text", "problem"), [("-1", "invalid syntax"), ("+1", "invalid syntax"), (str(2**64), "value out of range")]
)
def test_a_text_that_is_not_a_version(text: str, problem: str) -> None:
    with pytest.raises(StatusError) as raised:
        _ = asked(resourceVersion=text).resource_version
    assert raised.value.message == f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {problem}'


@pytest.mark.parametrize(
    ("text", "flag"), [("true", True), ("TRUE", True), ("1", True), ("yes", False), ("false", False), ("", False)]
)
def test_a_flag(text: str, flag: bool) -> None:
    assert asked(f=text).flag("f") is flag


def test_a_dry_run() -> None:
    assert asked(dryRun="All").dry_run is True
    assert asked(dryRun="").dry_run is False
    assert asked().dry_run is False
    with pytest.raises(StatusError, match='dryRun: Unsupported value: "All,x": supported values: "All"'):
        _ = asked(dryRun=["All", "x"]).dry_run


def test_the_options_of_a_write() -> None:
    """Source: patchToUpdateOptions, which drops `force`."""
    full = asked(dryRun="All", fieldManager="m", fieldValidation="Strict", force="true")
    assert full.write_options == {"dryRun": ["All"], "fieldManager": "m", "fieldValidation": "Strict"}
    assert asked(dryRun="", fieldManager="").write_options == {}


@pytest.mark.parametrize(
    ("agent", "client"),
    [("kubectl/v1.36 (linux)", "kubectl"), ("x" * 200, "x" * 128), ("", "unknown"), ("/1", "unknown")],
)
def test_the_manager_is_the_program_unless_it_is_given(agent: str, client: str) -> None:
    request = asked({"user-agent": agent})
    assert (request.client, request.manager) == (client, client)
    assert asked({"user-agent": agent}, fieldManager="m").manager == "m"


def test_the_content_type_has_no_parameters() -> None:
    assert asked({"content-type": " Application/JSON ; charset=utf-8"}).content_type == "application/json"
    assert asked().content_type == ""


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", ("", "v1", "", "pods", "", "", "")),
        ("/api/v1/pods/", ("", "v1", "", "pods", "", "", "")),
        ("/api/v1/namespaces/n/pods/p", ("", "v1", "n", "pods", "p", "", "")),
        ("/api/v1/namespaces/n/pods/p/log", ("", "v1", "n", "pods", "p", "log", "")),
        ("/api/v1/namespaces/n/pods/p/proxy/a/b", ("", "v1", "n", "pods", "p", "proxy", "a/b")),
        ("/apis/apps/v1/namespaces/n/deployments/d/scale", ("apps", "v1", "n", "deployments", "d", "scale", "")),
        ("/apis/a.b/v1beta1/things", ("a.b", "v1beta1", "", "things", "", "", "")),
        ("/api/v1/namespaces", ("", "v1", "", "namespaces", "", "", "")),
        ("/api/v1/namespaces/n", ("", "v1", "", "namespaces", "n", "", "")),
        ("/api/v1/namespaces/n/finalize", ("", "v1", "", "namespaces", "n", "finalize", "")),
        ("/api/v1/namespaces/n/status", ("", "v1", "", "namespaces", "n", "status", "")),
        ("/api/v1/nodes/n1/status", ("", "v1", "", "nodes", "n1", "status", "")),
        ("/api/v2/pods", None),
        ("/apis/apps/v1", None),
        ("/healthz", None),
        ("api/v1/pods", None),
    ],
)
def test_paths(path: str, target: tuple[str, ...] | None) -> None:
    """Source: RequestInfoFactory.NewRequestInfo."""
    assert parse_path(path) == (None if target is None else Target(*target))


def test_a_mapping_of_a_body() -> None:
    assert mapping({"a": {"b": 1}}, "a") == {"b": 1}
    assert mapping({}, "a") == mapping(None) == mapping({"a": None}, "a") == {}
    with pytest.raises(StatusError, match=r"^a: expected a mapping, got list$"):
        mapping({"a": []}, "a")
    with pytest.raises(StatusError, match=r"^the object provided: expected a mapping, got str$"):
        mapping("x", "a")


def test_a_received_query_that_is_not_utf8_is_read_with_replacements() -> None:
    line = RequestStartLine("PUT", "/api/v1/pods?x=%ff&x=b", "HTTP/1.1")
    http = HTTPServerRequest(start_line=line, headers=HTTPHeaders({"Host": "a", "If-Match": "1"}))
    received = Request.received(http, ADMINISTRATOR, b"{}")
    assert received == Request(
        "PUT", "/api/v1/pods", {"x": ["\ufffd", "b"]}, {"host": "a", "if-match": "1"}, b"{}", ADMINISTRATOR, "x=%ff&x=b"
    )
