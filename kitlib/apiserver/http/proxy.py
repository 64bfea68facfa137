"""`pods/proxy` and `services/proxy`: requests that the API server sends to a port of a pod, through the pod's node.

A request may ask for an upgrade of its connection (a WebSocket): if the pod answers 101, all further bytes of both
sides are passed on unchanged.

Not modelled: the rewriting of links in HTML pages, and endpoints of a Service that are not pods.

Source: registry/core/pod ResourceLocation; registry/core/service/storage REST.ResourceLocation; apimachinery
pkg/util/proxy UpgradeAwareHandler, Transport; net/http/httputil ReverseProxy.
"""

from __future__ import annotations

import asyncio
import http.client
import posixpath
import socket
import ssl
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tornado.iostream import IOStream, SSLIOStream, StreamClosedError

from kitlib.api.core import Service, ServicePort
from kitlib.api.errors import KitError
from kitlib.api.streams import StreamNode
from kitlib.apiserver.admission.service_pods import PodPort, ready_pod
from kitlib.apiserver.http import pod_sockets
from kitlib.apiserver.http.request import MAX_BODY, Request, Target
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.rest import Rest
from kitlib.apiserver.http.spdy_upgrade import Connection
from kitlib.apiserver.http.status import StatusError

_PIECE = 1 << 16
_CONNECT_SECONDS = 30.0
"""The maximum time for a connection to a pod. Source: kube-apiserver CreateProxyTransport, the default dialer."""
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers of one connection. Source: httputil hopHeaders; RFC 9110 section 7.6.1."""
_OWN = frozenset({"authorization", "content-length", "expect", "host"})
"""Headers that the pod does not get, or that are made anew; the authentication filter removes the credentials."""


class ProxiedResponse:
    """The response of a pod, read piece by piece.

    Attributes:
        code: the HTTP status code.
        reason: the reason phrase.
        headers: the headers for the client, in order.
        upgraded: whether the pod has accepted the upgrade of the connection.
    """

    def __init__(self, connection: socket.socket, response: http.client.HTTPResponse, place: str) -> None:
        self._connection, self._response = connection, response
        self.code, self.reason = response.status, response.reason
        self.upgraded = response.status == http.client.SWITCHING_PROTOCOLS
        dropped = set() if self.upgraded else _HOP_BY_HOP | _named(response.getheader("Connection", ""))
        self.headers = [(name, value) for name, value in response.getheaders() if name.lower() not in dropped]
        self.headers = [
            (name, _redirected(value, place) if name.lower() == "location" else value) for name, value in self.headers
        ]

    def read(self) -> bytes:
        """Return the next bytes of the body as soon as there are any; b"" at the end.

        Raises:
            OSError, http.client.HTTPException: the pod has ended the connection before the end of the body.
        """
        return self._response.read1(_PIECE)

    async def join(self, client: IOStream) -> None:
        """Pass the bytes of an upgraded connection in both directions until one side ends; then close both.

        Source: UpgradeAwareHandler.tryUpgrade.
        """
        self._connection.setblocking(False)
        early = b""
        with suppress(OSError):  # the pod has sent nothing after its headers yet
            early = self._response.fp.peek(_PIECE)
        secure = isinstance(self._connection, ssl.SSLSocket)
        pod = SSLIOStream(self._connection) if secure else IOStream(self._connection)
        lines = [f"HTTP/1.1 {self.code} {self.reason}", *(f"{name}: {value}" for name, value in self.headers), "", ""]
        try:
            await client.write("\r\n".join(lines).encode("latin-1") + early)
            both = [asyncio.ensure_future(_copy(*way)) for way in ((client, pod), (pod, client))]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except StreamClosedError:
            pass
        finally:
            client.close()
            pod.close()

    def close(self) -> None:
        """Close the connection; a thread that waits for the pod returns."""
        with suppress(OSError):  # it is closed already
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class ProxyRequest(NamedTuple):
    """A request to a pod.

    Attributes:
        node: the pod's node.
        port: the pod and its port.
        tls: whether the pod is asked over TLS; its certificate is not verified, as upstream.
        method: the HTTP method.
        path: the path and the query for the pod.
        headers: the headers for the pod.
        body: the body.
        place: the path of the proxied root on the API server.
    """

    node: StreamNode
    port: PodPort
    tls: bool
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    place: str

    def send(self) -> ProxiedResponse:
        """Send the request and return the beginning of the response.

        Raises:
            StatusError: 503 if the pod does not answer.
        """
        _, namespace, pod, port = self.port
        made = None
        try:
            made = pod_sockets.connect(self.node, namespace, pod, port, _CONNECT_SECONDS)
            if self.tls:
                # A pod has no name that a certificate could show. Source: kube-apiserver CreateProxyTransport.
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                made = context.wrap_socket(made)
            made.settimeout(None)  # a pod may think for as long as it likes
            connection = http.client.HTTPConnection(pod, port)
            connection.sock = made
            connection.putrequest(self.method, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(self.body or None)
            return ProxiedResponse(made, connection.getresponse(), self.place)
        except (KitError, OSError, http.client.HTTPException) as error:
            if made is not None:
                made.close()
            raise _unavailable(f"error trying to reach service: pod {namespace}/{pod}, port {port}: {error}") from None


async def _copy(source: IOStream, sink: IOStream) -> None:
    with suppress(StreamClosedError):
        async for piece in Connection(source).pieces():
            await sink.write(piece)


@contextmanager
def own_thread() -> Iterator[ThreadPoolExecutor]:
    """Yield an executor with one thread, which is not waited for at the end."""
    made = ThreadPoolExecutor(1, "kitlib-proxy")
    try:
        yield made
    finally:
        made.shutdown(wait=False)


def proxied_path(target: Target, request: Request) -> str:
    """Return the path that a request asks a node, a pod or a Service for. Source: getRequestOptions."""
    if target.rest:
        return f"/{target.rest}"
    return "/" if request.path.endswith("/") else ""


def proxy_request(rest: Rest, served: APIResource, target: Target, request: Request, path: str) -> ProxyRequest:
    """Return the request to a pod for a proxied request.

    Args:
        rest: the stored objects.
        served: pods or services.
        target: the parts of the request's path; the name is NAME, NAME:PORT or SCHEME:NAME:PORT.
        request: the request.
        path: the path for the pod, after admission.

    Raises:
        StatusError: 400, 404 or 503 if no pod can be asked.
    """
    if len(request.body) > MAX_BODY:
        raise StatusError(413, f"proxy: the body must be at most {MAX_BODY} bytes", "RequestEntityTooLarge")
    query = f"?{request.query_string}" if request.query_string else ""
    scheme, name, port = _parts(unquote(target.name), served)
    find = _of_pod if served.plural == "pods" else _of_service
    found = find(rest, served, target.namespace, name, port)
    node = rest.cluster.node(found.node)
    if not hasattr(node, "connect"):
        raise _unavailable("error trying to reach service: no containers run on a hollow node")
    root = request.path[: len(request.path) - len(target.rest)].rstrip("/") if target.rest else request.path.rstrip("/")
    headers = _headers(request, found, root, path)
    return ProxyRequest(
        node, found, scheme == "https", request.method, (path or "/") + query, headers, request.body, root
    )


def _parts(text: str, served: APIResource) -> tuple[str, str, str]:
    """Return scheme, name and port. Source: apimachinery net.SplitSchemeNamePort."""
    scheme, rest = text.split(":", 1) if text.count(":") == 2 else ("", text)
    name, _, port = rest.partition(":")
    if not name or ":" in port or scheme not in ("", "http", "https"):
        raise StatusError(400, f'invalid {served.singular} request "{text}"', "BadRequest")
    return scheme, name, port


def _of_pod(rest: Rest, served: APIResource, namespace: str, name: str, port: str) -> PodPort:
    pod = rest.get(served, namespace, name)
    declared = (one["containerPort"] for container in pod["spec"]["containers"] for one in container.get("ports") or ())
    number = port or str(next(declared, 80))
    if not (number.isascii() and number.isdigit() and 0 < int(number[:6]) <= 65535):
        raise StatusError(400, f'invalid pod request "{name}:{port}": the port must be a number', "BadRequest")
    node = pod["spec"].get("nodeName")
    if not node:
        raise StatusError(400, "address not allowed", "BadRequest")
    return PodPort(node, namespace, name, int(number))


def _of_service(rest: Rest, served: APIResource, namespace: str, name: str, port: str) -> PodPort:
    rest.get(served, namespace, name)
    store = rest.cluster.api.store
    service: Service = store.get(Service, name, namespace, copy=False)
    found = ready_pod(store, service, _service_port(service, port))
    if found is None:
        raise _unavailable(f'no endpoints available for service "{name}"')
    return found


def _service_port(service: Service, port: str) -> ServicePort:
    """Return the port of a Service by number or name; without either, the port that has no name."""
    number = port.isascii() and port.isdigit()
    for one in service.spec.ports:
        if (number and str(one.port) == port) or (not number and one.name == port):
            return one
    if number:
        raise _unavailable(f'no service port {port} found for service "{service.name}"')
    shown = f"{service.name}:{port}" if port else service.name
    raise _unavailable(f'no endpoints available for service "{shown}"')


def _headers(request: Request, found: PodPort, root: str, path: str) -> dict[str, str]:
    """Return the headers for a pod. Source: Transport.RoundTrip; ReverseProxy.ServeHTTP."""
    dropped = _HOP_BY_HOP | _OWN | _named(request.headers.get("connection", ""))
    kept = {
        name: value
        for name, value in request.headers.items()
        if name not in dropped and not name.startswith("impersonate-")
    }
    before = kept.get("x-forwarded-for")
    host = request.headers.get("host", "")
    made = {
        "host": host or f"{found.pod}:{found.port}",
        **kept,
        "x-forwarded-for": f"{before}, 127.0.0.1" if before else "127.0.0.1",
        "x-forwarded-uri": root + path,
        "x-forwarded-proto": "https",
    }
    if host:
        made["x-forwarded-host"] = host
    upgrade = request.headers.get("upgrade")
    if upgrade and "upgrade" in _named(request.headers.get("connection", "")):
        made |= {"connection": "Upgrade", "upgrade": upgrade}
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        made["content-length"] = str(len(request.body))
    return made


def _named(connection: str) -> frozenset[str]:
    return frozenset(one.strip().lower() for one in connection.split(",") if one.strip())


def _redirected(location: str, place: str) -> str:
    """Return the location of a redirect as the client reaches it. Source: Transport.rewriteURL."""
    parts = urlsplit(location)
    if parts.netloc or not parts.path.startswith("/") or parts.path.startswith(place):
        return location
    joined = posixpath.normpath(f"{place}/{parts.path.lstrip('/')}")
    slash = "/" if parts.path.endswith("/") and not joined.endswith("/") else ""
    return parts._replace(path=joined + slash).geturl()


def _unavailable(why: str) -> StatusError:
    return StatusError(503, why, "ServiceUnavailable")


def moved(request: Request, path: str) -> str:
    """Return the location of the root if a request lacks its slash; "" for any other.

    Source: apimachinery pkg/util/proxy proxyRedirectsforRootPath.
    """
    query = f"?{request.query_string}" if request.query_string else ""
    return f"{request.path}/{query}" if not path and request.method in ("GET", "HEAD") else ""
