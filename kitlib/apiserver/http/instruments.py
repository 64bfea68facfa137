"""The metrics of the API server, served under `/metrics` together with those of the scheduler.

Requests are answered one at a time, so that at most one of a kind is in flight. Known paths without a resource are
counted; requests for unknown resources are not.

Source: apiserver endpoints/metrics/metrics.go (MonitorRequest, RecordLongRunning, CleanScope, CleanVerb, cleanDryRun),
storage/etcd3/metrics (objectCounts, resourceObjects).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.prometheus import Family, Histogram, Labels, exponential_buckets, exposition
from kitlib.apiserver.http.rbac import attributes
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.resources import ResourceTable
from kitlib.apiserver.http.rest import Rest

COMPONENT = "apiserver"
_PATHS = ("/", "/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version")
_SECONDS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)
_CONNECT = ("attach", "exec", "portforward")
_IN_FLIGHT = 1.0
"""The length in seconds of the window whose maximum number of requests in flight is reported."""


class Instruments:
    """The counters of one server."""

    def __init__(self) -> None:
        group = ("group", "resource", "scope", "subresource", "verb", "version")
        self._total = Family(
            "apiserver_request_total",
            "[STABLE] Requests answered, by verb, dry run, group, version, resource, scope and HTTP code.",
            ("code", "component", "dry_run", *group),
        )
        self._seconds = Histogram(
            "apiserver_request_duration_seconds",
            "[STABLE] Seconds that requests took, by verb, dry run, group, version, resource and scope.",
            _SECONDS,
            ("component", "dry_run", *group),
        )
        self._sizes = Histogram(
            "apiserver_response_sizes",
            "[STABLE] Bytes of the answers to get and list, by group, version, resource and scope.",
            exponential_buckets(1000, 10, 7),
            ("component", *group),
        )
        self._running = Family(
            "apiserver_longrunning_requests",
            "[STABLE] Watches, followed logs and streams that are open, by verb, group, version and resource.",
            ("component", *group),
            "gauge",
        )
        self._in_flight = {"readOnly": float("-inf"), "mutating": float("-inf")}

    def observe(self, request: Request, resources: ResourceTable, code: int, seconds: float, size: int) -> None:
        """Count an answered request.

        Args:
            request: the request.
            resources: the served resources.
            code: the HTTP status code.
            seconds: the duration of the request in seconds.
            size: the size of the response in bytes.
        """
        labels = _labels(request, resources)
        if labels is None:
            return
        kind = "readOnly" if request.method in ("GET", "HEAD") else "mutating"
        self._in_flight[kind] = time.monotonic()
        dry_run = _dry_run(request)
        self._total.add((str(code), COMPONENT, dry_run, *labels))
        self._seconds.observe(seconds, (COMPONENT, dry_run, *labels))
        if labels[4] in ("GET", "LIST"):
            self._sizes.observe(size, (COMPONENT, *labels))

    @contextmanager
    def long_running(self, request: Request, resources: ResourceTable) -> Iterator[None]:
        """Count a watch, a followed log or a stream: as running while it is open, and as a request when it ends."""
        labels = _labels(request, resources)
        began = time.monotonic()
        if labels is not None:
            self._running.add((COMPONENT, *labels))
        try:
            yield
        finally:
            if labels is not None:
                self._running.add((COMPONENT, *labels), -1)
                code = 101 if labels[4] == "CONNECT" and labels[3] in _CONNECT else 200
                self.observe(request, resources, code, time.monotonic() - began, 0)

    def exposition(self, rest: Rest) -> str:
        """Return all metrics in Prometheus' text format: the server's, the stored objects', the scheduler's."""
        current = Family(
            "apiserver_current_inflight_requests",
            "[STABLE] Requests answered at the same time in the last second at most, by kind.",
            ("request_kind",),
            "gauge",
        )
        now = time.monotonic()
        for kind, at in self._in_flight.items():
            current.set((kind,), int(now - at <= _IN_FLIGHT))
        own: list[Family | Histogram] = [self._total, self._seconds, self._sizes, self._running, current]
        return exposition([*own, *_stored(rest), *_scheduler(rest.cluster)])


def _labels(request: Request, resources: ResourceTable) -> Labels | None:
    """Return group, resource, scope, subresource, verb and version; None for a request that is not counted."""
    about = attributes(request)
    if about.path:
        path = about.path.rstrip("/") or "/"
        known = path if path in _PATHS else f"/{path.split('/')[1]}"
        return ("", "", "", known, request.method, "") if known in _PATHS else None
    version = request.path.split("/")[2 if not about.group else 3]
    served = resources.find(about.group, version, about.resource)
    if served is None or (about.subresource and served.subresource(about.subresource) is None):
        return None
    verb = {"create": "POST", "update": "PUT"}.get(about.verb, about.verb.upper())
    if about.subresource in (*_CONNECT, "log", "proxy"):
        verb = "CONNECT" if about.subresource != "log" else "GET"
    elif verb == "PATCH" and "apply-patch" in request.content_type:
        verb = "APPLY"
    named = about.name or about.verb == "create"
    scope = "resource" if named else "namespace" if about.namespace else "cluster"
    return about.group, about.resource, scope, about.subresource, verb, version


def _dry_run(request: Request) -> str:
    values = [value for value in request.query.get("dryRun", ()) if value]
    return "invalid" if any(value != "All" for value in values) else values[0] if values else ""


def _stored(rest: Rest) -> list[Family]:
    """Return the number of objects of each resource, also under the old name, which is served until 1.37."""
    text = "Stored objects, by resource."
    old = Family(
        "apiserver_storage_objects",
        f"[STABLE] (Deprecated since 1.34.0) {text}",
        ("resource",),
        "gauge",
    )
    new = Family("apiserver_resource_objects", f"[ALPHA] {text}", ("group", "resource"), "gauge")
    for served in rest.resources.resources:
        if "create" not in served.verbs or "list" not in served.verbs or served.group == "events.k8s.io":
            continue
        count = len(rest.cluster.api.store.list(rest.kind_of(served), copy=False))
        old.set((served.qualified,), count)
        new.set((served.group, served.plural), count)
    return [old, new]


def _scheduler(cluster: Any) -> list[Family | Histogram]:
    """Return the metrics of the cluster's own scheduler; none if it has no scheduler in this process."""
    try:
        scheduler = getattr(cluster, "scheduler", None)
    except KitError:  # the scheduler cannot be loaded in this environment
        return []
    return [] if scheduler is None else scheduler.loop.metrics.families()
