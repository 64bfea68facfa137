"""An API request and its parts: verb, resource, namespace, name, subresource, options.

Source: apiserver pkg/endpoints/request (RequestInfoFactory.NewRequestInfo).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import ADMINISTRATOR, User

if TYPE_CHECKING:
    from tornado.httputil import HTTPServerRequest

MAX_BODY = 3 * 1024 * 1024
"""The maximum size of a body in bytes. Source: apiserver DefaultMaxRequestSizeBytes (limit of a resource request)."""
_SHOWN, _DIGITS = 40, 20  # characters of a number in an error message, and the maximum of a valid one


def _parsed(text: str, function: str, syntax: str, least: int, beyond: int) -> int:
    """Parse an integer from `least` up to, but not including, `beyond`; raise ValueError with Go's strconv message."""
    if not re.fullmatch(syntax, text):
        raise ValueError(f'strconv.{function}: parsing "{text[:_SHOWN]}": invalid syntax')
    if len(text) > _DIGITS or not least <= int(text) < beyond:
        raise ValueError(f'strconv.{function}: parsing "{text[:_SHOWN]}": value out of range')
    return int(text)


class Request(NamedTuple):
    """An HTTP request.

    Attributes:
        method: `GET`, `POST`, `PUT`, `PATCH`, `DELETE`.
        path: the path without the query, e.g. `/api/v1/namespaces/default/pods`.
        query: parameter -> its values.
        headers: name in lower case -> value.
        body: the bytes as received.
        user: the user on whose behalf the request is made.
        query_string: the query as sent.
    """

    method: str
    path: str
    query: Mapping[str, list[str]] = {}
    headers: Mapping[str, str] = {}
    body: bytes = b""
    user: User = ADMINISTRATOR
    query_string: str = ""

    @classmethod
    def received(cls, http: HTTPServerRequest, user: User, body: bytes = b"") -> Request:
        """Return the request that the server received; bytes of the query that are not UTF-8 are replaced."""
        return cls(
            http.method or "GET",
            http.path,
            {name: [v.decode("utf-8", "replace") for v in values] for name, values in http.query_arguments.items()},
            {name.lower(): value for name, value in http.headers.items()},
            body,
            user,
            http.query,
        )

    def get(self, name: str, default: str = "") -> str:
        values = self.query.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        return self.get(name).lower() in ("true", "1")

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return an integer of the query.

        Raises:
            StatusError: 400 if it is not an integer.
        """
        text = self.get(name)
        if not text:
            return default
        try:
            return _parsed(text, "ParseInt", r"[+-]?[0-9]+", -(2**63), 2**63)
        except ValueError as error:
            raise StatusError(400, str(error)) from None

    @property
    def resource_version(self) -> int:
        """The resource version that the client requests; 0 = any.

        Source: apiserver storage.APIObjectVersioner.ParseResourceVersion.

        Raises:
            StatusError: 400 if it is not a version.
        """
        text = self.get("resourceVersion")
        try:
            return _parsed(text or "0", "ParseUint", r"[0-9]+", 0, 2**64)
        except ValueError as error:
            raise StatusError(400, f'Invalid value: "{text[:_SHOWN]}": {error}') from None

    @property
    def dry_run(self) -> bool:
        values = [v for v in self.query.get("dryRun", []) if v]
        if any(value != "All" for value in values):
            shown = ",".join(values)[:80]
            raise StatusError(400, f'dryRun: Unsupported value: "{shown}": supported values: "All"')
        return bool(values)

    @property
    def write_options(self) -> dict[str, str | list[str]]:
        """The fields of CreateOptions or UpdateOptions in the query, as webhooks and policies see them.

        Source: endpoints/handlers patchToUpdateOptions, patchToCreateOptions, which drop `force`.
        """
        found: dict[str, str | list[str]] = {}
        if any(self.query.get("dryRun", ())):
            found["dryRun"] = list(self.query["dryRun"])
        return found | {name: self.get(name) for name in ("fieldManager", "fieldValidation") if self.get(name)}

    @property
    def manager(self) -> str:
        """The field manager: that of the query, else the name of the client program."""
        return self.get("fieldManager") or self.client

    @property
    def client(self) -> str:
        """The name of the client program."""
        return self.headers.get("user-agent", "").split("/")[0][:128] or "unknown"

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Target(NamedTuple):
    """The parts of a resource path."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str
    rest: str = ""


_PATH = re.compile(
    r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[^/]+)(?:/(?P<rest>.*))?)?)?/?$"
)
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


def parse_path(path: str) -> Target | None:
    """Parse a resource path; None if the path is not one."""
    own = re.match(r"^/api/v1/namespaces(?:/([^/]+)(?:/(status|finalize))?)?/?$", path)
    if own:
        return Target("", "v1", "", "namespaces", own.group(1) or "", own.group(2) or "")
    found = _PATH.match(path)
    if found is None:
        return None
    group, version = found["group"] or "", found["core"] or found["version"]
    parts = (found["namespace"] or "", found["plural"], found["name"] or "", found["sub"] or "", found["rest"] or "")
    return Target(group, version, *parts)


def mapping(body: Any, field: str = "") -> dict[str, Any]:
    """Return a body, or a field of it, as a mapping; an absent one is empty.

    Raises:
        StatusError: 400 if the value is not a mapping.
    """
    value = body
    if field:
        value = mapping(body).get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise StatusError(400, f"{field or 'the object provided'}: expected a mapping, got {type(value).__name__}")
    return value
