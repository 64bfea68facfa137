"""Subresources: status, scale, binding, eviction, resize, ephemeralcontainers, log, token.

Source: pkg/registry/core/pod/rest, pkg/registry/apps/*/storage, policy/v1 Eviction.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.pod_strategy import grace_of
from kitlib.api.scale import ScalePaths, scale_of
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.http import token_request
from kitlib.apiserver.http.bodies import object_body
from kitlib.apiserver.http.delete_options import check_preconditions
from kitlib.apiserver.http.logs import LogRequest, log_request
from kitlib.apiserver.http.patches import PATCH_TYPES, patched
from kitlib.apiserver.http.request import Request, Target, mapping
from kitlib.apiserver.http.resources import APIResource, Subresource
from kitlib.apiserver.http.rest import Rest
from kitlib.apiserver.http.status import StatusError, success
from kitlib.apiserver.http.users import Users

Result = tuple[int, dict[str, Any] | bytes | LogRequest]


class Subresources:
    """The handlers of subresources."""

    def __init__(self, rest: Rest, users: Users) -> None:
        self._rest, self._users = rest, users

    def handle(self, served: APIResource, below: Subresource, target: Target, request: Request) -> Result:
        """Return the HTTP status code and the body.

        Raises:
            StatusError: the subresource does not have the method, or the operation failed.
        """
        name = below.name
        if name == "scale":
            return self._scale(served, target, request)
        if name in ("status", "approval", "resize", "ephemeralcontainers", "finalize"):
            return self._part(served, name, target, request)
        if name == "binding":
            return self._bind(served, target, request)
        if name == "eviction":
            return self._evict(served, target, request)
        if name == "log":
            return 200, log_request(self._rest, served, target, request)
        if name == "token":
            if request.method != "POST":
                raise _not_allowed()
            return 201, token_request.created(self._rest, self._users, target, request)
        if name in ("exec", "attach", "portforward"):
            why = f"{name}: an upgrade to a WebSocket is required"
            raise StatusError(400, why, "BadRequest")
        raise StatusError(404, "the server could not find the requested resource", "NotFound")

    def _part(self, served: APIResource, name: str, target: Target, request: Request) -> Result:
        if request.method == "GET":
            return 200, self._rest.get(served, target.namespace, target.name)
        if request.method == "PUT":
            return 200, self._rest.update(served, target.namespace, target.name, name, request)
        if request.method == "PATCH":
            return 200, self._rest.patch(served, target.namespace, target.name, name, request)
        raise _not_allowed()

    # Scale.

    def _scale(self, served: APIResource, target: Target, request: Request) -> Result:
        live = self._rest.get(served, target.namespace, target.name)
        paths = served.scale or ScalePaths()
        scale = self._scale_of(served, live)
        if request.method == "GET":
            return 200, scale
        if request.method == "PUT":
            wanted = object_body(request, "Scale")
        elif request.method == "PATCH" and request.content_type in PATCH_TYPES:
            wanted = patched(scale, request)
        else:
            raise _not_allowed()
        replicas = mapping(wanted, "spec").get("replicas", 0)
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise StatusError(400, "spec.replicas: expected an integer")
        if replicas < 0:
            why = f"spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0"
            raise StatusError(422, f'Scale.autoscaling "{target.name}" is invalid: {why}', "Invalid")
        changed = paths.with_replicas(live, replicas)
        return 200, self._scale_of(served, self._rest.store_changed(served, changed, "scale", request))

    def _scale_of(self, served: APIResource, obj: dict[str, Any]) -> dict[str, Any]:
        """Return the Scale of an object.

        Source: apiextensions-apiserver registry/customresource/etcd.go ScaleREST.Get.
        """
        if served.scale is None:
            return to_dict(scale_of(from_dict(obj)))
        made = served.scale.scale_of(obj)
        if made is None:
            why = f"the spec replicas field {served.scale.spec_replicas!r} does not exist"
            raise StatusError(500, f"Internal error occurred: {why}".replace("'", '"'), "InternalError")
        return to_dict(made)

    # Pods.

    def bind_by_name(self, target: Target, request: Request) -> tuple[int, dict[str, Any]]:
        """Bind the pod that a Binding names: a POST to `bindings`. Source: LegacyBindingREST.Create."""
        name = mapping(object_body(request, "Binding"), "metadata").get("name")
        if not isinstance(name, str) or not name:
            raise StatusError(400, "name is required", "BadRequest")
        pods = self._rest.resources.find("", "v1", "pods")
        assert pods is not None
        return self._bind(pods, target._replace(name=name), request)

    def _bind(self, served: APIResource, target: Target, request: Request) -> tuple[int, dict[str, Any]]:
        self._rest.get(served, target.namespace, target.name)
        body = object_body(request, "Binding")
        node = mapping(body, "target").get("name")
        if not isinstance(node, str) or not node:
            raise StatusError(422, f'Binding "{target.name}" is invalid: target.name: Required value', "Invalid")
        metadata, dry, warned = mapping(body, "metadata"), request.dry_run, list[str]()
        with self._rest.errors(served, target.name):
            self._rest.cluster.bind(
                target.name, node, target.namespace, metadata=metadata, dry_run=dry, warnings=warned
            )
        self._rest.warnings += warned
        return 201, success()

    def _evict(self, served: APIResource, target: Target, request: Request) -> Result:
        live = self._rest.get(served, target.namespace, target.name)
        options = mapping(object_body(request, "Eviction"), "deleteOptions")
        check_preconditions(served, live, options)
        # Both places are admitted and checked against the budget. Source: propagateDryRun, checkAndDecrement.
        dry, grace = request.dry_run or options.get("dryRun") == ["All"], grace_of(options.get("gracePeriodSeconds"))
        warned: list[str] = []
        with self._rest.errors(served, target.name):
            self._rest.cluster.evict(target.name, target.namespace, grace=grace, dry_run=dry, warnings=warned)
        self._rest.warnings += warned
        return 201, success()


def _not_allowed() -> StatusError:
    return StatusError(405, "the server does not allow this method on the requested resource", "MethodNotAllowed")
