"""The mapping of requests to responses, without a socket: discovery, objects, tables, watches, subresources, reviews.

One request is handled at a time: the server holds its lock meanwhile. `rest.warnings` and the requesting user belong to
the current request. Watches and logs are returned as objects and read later, after the dispatcher has returned.

Source: apiserver pkg/endpoints/installer.go; pkg/server/routes.
"""

from __future__ import annotations

import logging
import time
from typing import Any, NamedTuple

import msgspec

from kitlib.api import service_account_token
from kitlib.api.collector import collector_paused
from kitlib.api.core import Node, Pod, Service
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.pod_connect import ProxyOptions, proxy_options
from kitlib.api.prometheus import CONTENT_TYPE
from kitlib.apiserver.admission.authorization import RBACAuthorizer
from kitlib.apiserver.admission.connecting import admitted
from kitlib.apiserver.admission.requester import requested_by
from kitlib.apiserver.http import (
    discovery,
    node_proxy,
    openapi,
    openapi_v2,
    reviews,
)
from kitlib.apiserver.http.audit import AuditLog
from kitlib.apiserver.http.health import health
from kitlib.apiserver.http.instruments import Instruments
from kitlib.apiserver.http.lists import check_version
from kitlib.apiserver.http.logs import LogRequest
from kitlib.apiserver.http.metrics import usage_list, usage_of
from kitlib.apiserver.http.printers import table
from kitlib.apiserver.http.protobuf import PROTOBUF, encode_object, is_known
from kitlib.apiserver.http.proxy import ProxyRequest, moved, proxied_path, proxy_request
from kitlib.apiserver.http.rbac import attributes, forbidden, of_target
from kitlib.apiserver.http.request import Request, Target, parse_path
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.rest import Rest
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.subresources import Subresources
from kitlib.apiserver.http.users import User, Users
from kitlib.apiserver.http.watch import WatchStream, as_table
from kitlib.apiserver.http.webhook_client import WebhookClient

JSON, YAML = "application/json", "application/yaml"
_OPENID_HEADERS = (("Cache-Control", "public, max-age=3600"),)
"""Source: serviceaccount StaticPublicKeysGetter.GetCacheAgeMaxSeconds."""
_SHAPING = frozenset({"as", "g", "v"})
_PARTIAL = "PartialObjectMetadata"
_PARENTS: dict[str, type[KubeObject]] = {"nodes": Node, "pods": Pod, "services": Service}
_log = logging.getLogger(__name__)


class Response(NamedTuple):
    """A complete response."""

    code: int
    body: bytes
    content_type: str = JSON
    warnings: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


Longrunning = WatchStream | LogRequest | ProxyRequest
"""What is sent to the client without the lock, piece by piece."""


class Accept(NamedTuple):
    """The form of the objects in a response.

    Attributes:
        shape: `Table`, `PartialObjectMetadata`, or "" for the objects themselves.
        version: the requested version of the shape; responses are of meta.k8s.io/v1 in any case.
        media: JSON, YAML or PROTOBUF.
    """

    shape: str = ""
    version: str = "v1"
    media: str = JSON

    @property
    def protobuf(self) -> bool:
        return self.media == PROTOBUF


class _Clause(NamedTuple):
    """A media type of an Accept header, with its parameters."""

    media: str
    options: dict[str, str]

    @property
    def place(self) -> tuple[float, bool, bool]:
        """The place in the order of preference: by quality, then exact types before patterns. Source: goautoneg."""
        try:
            quality = float(self.options.get("q", "1"))
        except ValueError:
            quality = 1.0
        kind, _, below = self.media.partition("/")
        return -quality, kind == "*", below == "*"


def _clauses(header: str) -> list[_Clause]:
    found = []
    for offer in header.split(","):
        media, *parts = (part.strip() for part in offer.split(";"))
        found.append(_Clause(media, dict(part.split("=", 1) for part in parts if "=" in part)))
    return sorted(found, key=lambda clause: clause.place)


def accepted(header: str, *, custom: bool = False, shaped: bool = True, stream: bool = False) -> Accept:
    """Return the first form of an Accept header that is served here; JSON without a header.

    Args:
        header: media types, in the order of the client's preference if they have the same quality.
        custom: whether the objects are of a custom kind; their protobuf encoding is limited to bare metadata.
        shaped: whether the response can be a Table or bare metadata; a review cannot.
        stream: whether the response is a watch, which has no form in YAML.

    Raises:
        StatusError: 406 if no form is served.

    Source: apiserver handlers/negotiation NegotiateMediaTypeOptions, NegotiateOutputMediaType;
    RequestScope.AllowsMediaTypeTransform.
    """
    if not header:
        return Accept()
    for media, options in _clauses(header):
        shape = options.get("as", "").removesuffix("List")
        # A clause that asks for a shape must name a known one with its group and version, or it is passed over.
        if _SHAPING & options.keys() and not (
            shape in ("Table", _PARTIAL)
            and options.get("g") == "meta.k8s.io"
            and options.get("v") in ("v1", "v1beta1")
            and (shaped or shape == _PARTIAL)
        ):
            continue
        protobuf = media == PROTOBUF
        if protobuf and (shape == "Table" or (custom and shape != _PARTIAL)):
            continue
        found = JSON if media in ("*/*", "application/*") else media
        if found not in (JSON, PROTOBUF) and (found != YAML or stream):
            continue
        return Accept(shape, options["v"], found) if shape else Accept(media=found)
    types = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch") if stream else (JSON, YAML, PROTOBUF)
    raise StatusError(406, f"only the following media types are accepted: {', '.join(types)}", "NotAcceptable")


class Dispatcher:
    """The dispatcher of the requests to one cluster.

    Making one enables the cluster's webhooks, which are called over HTTPS; without a dispatcher they are not called.

    Args:
        cluster: the served cluster.
        address: the host and port at which clients reach it, for discovery.
        users: the known tokens and their users; its key signs and verifies the tokens of service accounts.

    Attributes:
        audit: the audit log.
        instruments: the counters for `/metrics`.
    """

    def __init__(self, cluster: Any, address: str = "127.0.0.1", users: Users | None = None) -> None:
        self.cluster, self.address = cluster, address  # of type Any: an import of the clusters would be a cycle
        self.users = Users() if users is None else users
        self.rest = Rest(cluster)
        cluster.api.webhooks = WebhookClient(cluster)
        self.authorizer = RBACAuthorizer(cluster.api.store)
        self.audit, self.instruments = AuditLog(), Instruments()
        self.subresources = Subresources(self.rest, self.users)

    def handle(self, request: Request) -> Response | Longrunning:
        """Return the response to a request; errors are responses too.

        An exception while the request is handled becomes a 500 and is logged. The metrics and the audit log are outside
        of this boundary.
        """
        began = time.perf_counter()  # real seconds, also if the cluster's time is virtual
        answer = self._answer(request)
        if isinstance(answer, Response):  # streams are counted when they end
            taken = time.perf_counter() - began
            self.instruments.observe(request, self.rest.resources, answer.code, taken, len(answer.body))
        if request.method not in ("GET", "HEAD"):
            code = answer.code if isinstance(answer, Response) else 200
            agent = request.headers.get("user-agent", "")
            about = attributes(request)
            self.audit.record(self.cluster.now(), request.user.sender, agent, about, code, _name(answer))
        return answer

    def authorize_stream(self, user: User, path: str, method: str) -> None:
        """Check that a user may open a stream into a container, and add the request to the audit log.

        Raises:
            StatusError: 403 if the user may not; 404 if the path is not that of a resource.

        Source: registry/core/pod/rest ensureAuthorizedForVerb.
        """
        target = parse_path(path)
        if target is None:
            raise StatusError(404, "the server could not find the requested resource", "NotFound")
        # A WebSocket begins with a GET, so its verb is `get`; SPDY begins with a POST. The gate requires `create` too.
        about = checked = of_target("create" if method == "POST" else "get", target)
        allowed = self.authorizer.allows(user, about)  # also knows system:masters
        if allowed and self.cluster.release.enabled("AuthorizePodWebsocketUpgradeCreatePermission"):
            checked = of_target("create", target)
            allowed = self.authorizer.allows(user, checked)
        # 101 Switching Protocols: recorded before the upgrade, which can still fail.
        self.audit.record(self.cluster.now(), user.sender, "", about, 101 if allowed else 403)
        if not allowed:
            raise StatusError(403, forbidden(user, checked), "Forbidden")

    def _answer(self, request: Request) -> Response | Longrunning:
        self.rest.warnings.clear()
        user = request.user
        try:
            with requested_by(user.requester(request.client, request.write_options)):
                answer = self._handle(request)
            warned = tuple(dict.fromkeys(self.rest.warnings))
            return answer._replace(warnings=warned) if isinstance(answer, Response) and warned else answer
        except StatusError as error:
            return _failure(error, request)
        except KitError as error:  # an argument that the kit rejects: the client's error
            return _failure(StatusError(400, str(error)), request)
        except Exception as error:  # the boundary: one request fails, the server goes on
            _log.exception("%s %s", request.method, request.path)
            return _failure(StatusError(500, f"Internal error occurred: {type(error).__name__}"), request)

    def _handle(self, request: Request) -> Response | Longrunning:
        if not request.user.is_master:  # a shortcut: the authorizer allows a master everything, too
            about = attributes(request)
            if not self.authorizer.allows(request.user, about):
                details = {"name": about.name, "group": about.group, "kind": about.resource}
                details = {name: value for name, value in details.items() if value}
                raise StatusError(403, forbidden(request.user, about), "Forbidden", details)
        plain = self._plain(request) if request.method in ("GET", "HEAD") else None
        if plain is not None:
            return plain
        target = parse_path(request.path)
        if target is None:
            raise StatusError(404, "the server could not find the requested resource", "NotFound")
        review = reviews.answer(target, request, self.authorizer, self.users)
        if review is not None:
            accept = accepted(request.headers.get("accept", ""), shaped=False)
            return _encoded(201, review, accept.media)
        served = self.rest.resources.find(target.group, target.version, target.plural)
        if served is None:
            raise StatusError(404, "the server could not find the requested resource", "NotFound")
        if served.group == "metrics.k8s.io":
            return self._metrics(served, target, request)
        # Only a list or a watch may span all namespaces: the installer registers no other method at that path, and
        # crdHandler passes other verbs on.
        if served.namespaced and not target.namespace and (target.name or request.method not in ("GET", "HEAD")):
            if target.name or served.schema is not None:
                raise StatusError(404, "the server could not find the requested resource", "NotFound")
            raise StatusError(
                405, "the server does not allow this method on the requested resource", "MethodNotAllowed"
            )
        if request.method not in ("GET", "HEAD"):  # what cannot be answered must not be written
            whole = not target.subresource and request.method != "DELETE"
            accepted(request.headers.get("accept", ""), custom=whole and served.schema is not None)
        if target.subresource:
            return self._subresource(served, target, request)
        if served.kind == "Binding":
            if request.method != "POST" or target.name:
                raise StatusError(
                    405, "the server does not allow this method on the requested resource", "MethodNotAllowed"
                )
            code, body = self.subresources.bind_by_name(target, request)
            return _negotiated(code, body, request)
        return self._resource(served, target, request)

    # Non-resource paths.

    def _plain(self, request: Request) -> Response | None:
        path, resources = request.path.rstrip("/") or "/", self.rest.resources
        well = health(request)  # None = not a path of health checks
        if well is not None:
            return Response(200, well.encode(), "text/plain; charset=utf-8")
        if path == "/metrics":
            return Response(200, self.instruments.exposition(self.rest).encode(), CONTENT_TYPE)
        if path == "/version":
            return _json(200, discovery.version_info(str(self.cluster.release)))
        if path in ("/api", "/apis"):
            if "APIGroupDiscoveryList" in request.headers.get("accept", ""):
                made = discovery.aggregated(resources, path == "/api")
                return Response(200, msgspec.json.encode(made), discovery.AGGREGATED)
            plain = discovery.api_versions(self.address) if path == "/api" else discovery.group_list(resources)
            return _json(200, plain)
        if path == "/.well-known/openid-configuration":
            return self._openid(service_account_token.discovery(f"https://{self.address}/openid/v1/jwks"), JSON)
        if path == "/openid/v1/jwks":
            return self._openid(service_account_token.key_set(self.users.key), "application/jwk-set+json")
        if path == "/openapi/v2":
            if openapi_v2.PROTOBUF in request.headers.get("accept", ""):
                # kubectl before 1.27 asks for this; without definitions it leaves the validation to the server.
                # The requested type contains "@", which is not allowed in a Content-Type.
                return Response(200, openapi_v2.without_definitions(), "application/octet-stream")
            return _json(200, openapi_v2.document(resources))
        if path == "/openapi/v3":
            return _json(200, openapi.index(resources))
        if path.startswith(("/openapi/v3/apis/", "/openapi/v3/api/")):
            return self._openapi(path.removeprefix("/openapi/v3/").split("/"))
        parts = path.strip("/").split("/")
        if (parts[0] == "api" and len(parts) == 2) or (parts[0] == "apis" and len(parts) == 3):
            group, version = ("", parts[1]) if len(parts) == 2 else (parts[1], parts[2])
            found = discovery.resource_list(resources, group, version)
            return None if found is None else _json(200, found)
        if parts[0] == "apis" and len(parts) == 2 and any(g == parts[1] for g, _ in resources.group_versions()):
            return _json(200, discovery.api_group(resources, parts[1]))
        if path == "/":
            paths = [
                "/.well-known/openid-configuration",
                "/api",
                "/api/v1",
                "/apis",
                "/healthz",
                "/livez",
                "/metrics",
                "/openapi/v2",
                "/openapi/v3",
                "/openid/v1/jwks",
                "/readyz",
                "/version",
            ]
            return _json(200, {"paths": paths})
        return None

    def _openid(self, document: dict[str, Any], content_type: str) -> Response:
        """Source: pkg/routes OpenIDMetadataServer."""
        return Response(200, msgspec.json.encode(document), content_type, headers=_OPENID_HEADERS)

    def _openapi(self, parts: list[str]) -> Response:
        group, version = ("", parts[1]) if parts[0] == "api" and len(parts) == 2 else ("", "")
        if parts[0] == "apis" and len(parts) == 3:
            group, version = parts[1], parts[2]
        if (group, version) not in self.rest.resources.group_versions():
            raise StatusError(404, "the server could not find the requested resource", "NotFound")
        return _json(200, openapi.document(self.rest.resources, group, version))

    # Objects.

    def _resource(self, served: APIResource, target: Target, request: Request) -> Response | WatchStream:
        method, namespace, name = request.method, target.namespace, target.name
        verb = _verb(method, name)
        # The installer registers POST at the list only. With a name RBAC would check another object than is created.
        if verb not in served.verbs or (method == "POST" and name and served.schema is None):
            raise StatusError(
                405, "the server does not allow this method on the requested resource", "MethodNotAllowed"
            )
        if method in ("GET", "HEAD"):
            if request.flag("watch"):
                return self._watch(served, namespace, name, request)
            if name:
                check_version(request.resource_version, self.rest.version)  # 504 for a version of the future
                return self._shaped(served, [self.rest.shared_get(served, namespace, name)], {}, request, single=True)
            with collector_paused():  # thousands of new dictionaries, none of which is garbage
                items, meta = self.rest.list(served, namespace, request)
                return self._shaped(served, items, meta, request)
        if method == "POST":  # a custom object's path may have a name, which crdHandler ignores
            return self._written(201, served, self.rest.create(served, namespace, request), request)
        if method == "PUT":
            return self._written(200, served, self.rest.update(served, namespace, name, "", request), request)
        if method == "PATCH":
            # Decided before the write: afterwards the object exists even if server-side apply has created it.
            code = 200 if self.rest.exists(served, namespace, name) else 201
            return self._written(code, served, self.rest.patch(served, namespace, name, "", request), request)
        if name:
            return _negotiated(200, self.rest.delete(served, namespace, name, request), request)
        return _negotiated(200, self.rest.delete_collection(served, namespace, request), request)

    def _written(self, code: int, served: APIResource, obj: dict[str, Any], request: Request) -> Response:
        return self._shaped(served, [obj], {}, request, single=True, code=code)

    def _shaped(
        self,
        served: APIResource,
        items: list[dict[str, Any]],
        meta: dict[str, Any],
        request: Request,
        *,
        single: bool = False,
        code: int = 200,
    ) -> Response:
        wanted = accepted(request.headers.get("accept", ""), custom=served.schema is not None)
        if wanted.shape == "Table":
            if single:
                meta = {"resourceVersion": items[0]["metadata"].get("resourceVersion", "")}
            made = table(served, items, self.cluster.now(), meta, request.get("includeObject", "Metadata"))
            return _encoded(code, made, wanted.media)
        if wanted.shape == _PARTIAL:
            items = [_partial(item) for item in items]
            version, kind = "meta.k8s.io/v1", _PARTIAL
        else:
            version, kind = served.group_version, served.kind
        made = items[0] if single else {"kind": f"{kind}List", "apiVersion": version, "metadata": meta, "items": items}
        return _encoded(code, made, wanted.media)

    def _watch(self, served: APIResource, namespace: str, name: str, request: Request) -> WatchStream:
        wanted = accepted(request.headers.get("accept", ""), custom=served.schema is not None, stream=True)
        # `first` is True for the first event: only its Table has the column definitions.
        if wanted.shape == "Table":
            shape = as_table(served, self.cluster.now, request.get("includeObject", "Metadata"))
        elif wanted.shape == _PARTIAL:
            shape = lambda objects, first: _partial(objects[0])  # noqa: E731
        else:
            shape = lambda objects, first: objects[0]  # noqa: E731
        return WatchStream(self.rest, served, namespace, name, request, shape, protobuf=wanted.protobuf)

    def _subresource(
        self, served: APIResource, target: Target, request: Request
    ) -> Response | LogRequest | ProxyRequest:
        below = served.subresource(target.subresource)
        if below is None or not target.name:
            raise StatusError(404, "the server could not find the requested resource", "NotFound")
        if below.name == "proxy":
            return self._proxied(served, target, request)
        code, body = self.subresources.handle(served, below, target, request)
        if isinstance(body, LogRequest):
            return body
        if isinstance(body, bytes):
            return Response(code, body, "text/plain; charset=utf-8")
        return _negotiated(code, body, request)

    def _proxied(self, served: APIResource, target: Target, request: Request) -> Response | ProxyRequest:
        """Answer for a node's kubelet, or return the request to a pod; the path is the one after admission."""
        if served.plural == "nodes" and request.method not in ("GET", "HEAD"):
            raise StatusError(405, "the server does not allow this method on the requested resource")
        named = _PARENTS[served.plural](metadata=ObjectMeta(name=target.name, namespace=target.namespace))
        asked = proxy_options(served.plural, proxied_path(target, request))
        with self.rest.errors(served, target.name):
            options, warnings = admitted(self.cluster, asked, named, target.subresource)
        self.rest.warnings += warnings
        assert isinstance(options, ProxyOptions), "admission does not change the kind"
        if served.plural != "nodes":
            location = moved(request, options.path)
            if location:
                return Response(301, b"", headers=(("Location", location),))
            return proxy_request(self.rest, served, target, request, options.path)
        self.rest.get(served, "", target.name)  # 404 for an unknown node
        return Response(200, *node_proxy.answer(self.cluster, target.name, options.path))

    def _metrics(self, served: APIResource, target: Target, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise StatusError(
                405, "the server does not allow this method on the requested resource", "MethodNotAllowed"
            )
        if target.name:
            return _json(200, usage_of(self.cluster, served.plural, target.namespace, target.name))
        matches = self.rest.selector(served, request)
        return _json(200, usage_list(self.cluster, served.plural, target.namespace, matches))


def _name(answer: object) -> str:
    """Return the name of a created object for the audit log, since the path of a POST has none.

    A Table and a response in protobuf give "", so a generated name is missing in the log then.
    """
    if isinstance(answer, Response) and answer.code == 201:
        try:
            return str(msgspec.json.decode(answer.body)["metadata"]["name"])
        except (msgspec.DecodeError, KeyError, TypeError):
            return ""
    return ""


def _verb(method: str, name: str) -> str:
    if method in ("GET", "HEAD"):
        return "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(method, "")


def _partial(obj: dict[str, Any]) -> dict[str, Any]:
    return {"kind": _PARTIAL, "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _failure(error: StatusError, request: Request) -> Response:
    """Return an error response in the encoding that the client accepts.

    JSON if the negotiation itself fails, so that a 406 can be sent. Never raises.

    Source: responsewriters.ErrorNegotiated.
    """
    try:
        return _negotiated(error.code, error.body(), request)
    except StatusError:
        return _json(error.code, error.body())


def _json(code: int, body: Any) -> Response:
    return Response(code, msgspec.json.encode(body))


def _encoded(code: int, obj: dict[str, Any], media: str) -> Response:
    if media == PROTOBUF and is_known(str(obj["apiVersion"]), str(obj["kind"])):
        return Response(code, encode_object(obj), PROTOBUF)
    if media == YAML:
        import yaml

        plain = msgspec.json.decode(msgspec.json.encode(obj))  # the values that JSON has, such as texts for times
        return Response(code, yaml.dump(plain, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)).encode(), YAML)
    return _json(code, obj)


def _negotiated(code: int, obj: dict[str, Any], request: Request) -> Response:
    """Return an object that is never a Table: a Status, a review, the response of a subresource."""
    return _encoded(code, obj, accepted(request.headers.get("accept", "")).media)
