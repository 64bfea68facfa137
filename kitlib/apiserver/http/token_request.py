"""TokenRequests: tokens of service accounts, bound to a pod, a Secret or a node.

Source: registry/core/serviceaccount/storage TokenREST.Create; apis/authentication/validation ValidateTokenRequest.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from kitlib.api.service_account_token import TokenSubject, issue
from kitlib.apiserver.http.bodies import object_body
from kitlib.apiserver.http.request import Request, Target, mapping
from kitlib.apiserver.http.rest import Rest
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import AUDIENCES, Users

_DEFAULT_LIFE, _SHORTEST_LIFE, _LONGEST_LIFE = 3600, 600, 1 << 32
_BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_INVALID = 'TokenRequest.authentication.k8s.io "{name}" is invalid: {path}: Invalid value: {value}: {detail}'


def created(rest: Rest, users: Users, target: Target, request: Request) -> dict[str, Any]:
    """Return a TokenRequest with its token; a dry run issues none.

    Raises:
        StatusError: the account or the bound object does not exist, or the request is invalid.
    """
    body = object_body(request, "TokenRequest")
    metadata, spec = mapping(body, "metadata"), mapping(body, "spec")
    for field in ("name", "namespace"):
        given, wanted = metadata.get(field), getattr(target, field)
        if given and given != wanted:
            raise _invalid(
                target.name, f"metadata.{field}", f'"{given}"', f"must match the service account {field} if specified"
            )
    accounts = rest.resources.find("", "v1", "serviceaccounts")
    assert accounts is not None
    uid = rest.get(accounts, target.namespace, target.name)["metadata"].get("uid", "")
    _check_uid(rest, target.name, str(metadata.get("uid") or ""), uid)
    seconds, bound = _life(spec.get("expirationSeconds")), mapping(spec, "boundObjectRef")
    whose = TokenSubject(target.namespace, target.name, uid, **_references(rest, target, bound))
    now = users.clock()
    audiences = [str(one) for one in spec.get("audiences") or ()] or list(AUDIENCES[:1])
    identifier = str(uuid.uuid4()) if rest.cluster.release.enabled("ServiceAccountTokenJTI") else ""
    token = "" if request.dry_run else issue(users.key, whose, now, seconds, audiences, identifier=identifier)
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": target.name, "namespace": target.namespace, "uid": uid, "creationTimestamp": _time(now)},
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound or None},
        "status": {"token": token, "expirationTimestamp": _time(now + timedelta(seconds=seconds))},
    }


def _check_uid(rest: Rest, name: str, given: str, uid: str) -> None:
    """Compare the UID in the request with that of the account."""
    if not given or given == uid:
        return
    differs = f"the UID in the token request ({given}) does not match the UID of the service account ({uid})"
    if rest.cluster.release.enabled("TokenRequestServiceAccountUIDValidation"):
        why = f'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "{name}": {differs}'
        raise StatusError(409, why, "Conflict")
    rest.warnings.append(
        f"{differs} but TokenRequestServiceAccountUIDValidation is not enabled. In the future, this will return a "
        "conflict error"
    )


def _life(asked: object) -> int:
    """Return the validity of a requested token in seconds."""
    if asked is None:
        return _DEFAULT_LIFE
    if not isinstance(asked, int) or isinstance(asked, bool):
        raise StatusError(400, f"spec.expirationSeconds: expected an integer, got {asked!r}", "BadRequest")
    if asked < _SHORTEST_LIFE:
        raise _invalid("", "spec.expirationSeconds", asked, "may not specify a duration less than 10 minutes")
    if asked > _LONGEST_LIFE:
        raise _invalid("", "spec.expirationSeconds", asked, "may not specify a duration larger than 2^32 seconds")
    return asked


def _references(rest: Rest, target: Target, bound: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the bound objects of a token as fields of TokenSubject."""
    if not bound:
        return {}
    version, kind, name = (str(bound.get(field) or "") for field in ("apiVersion", "kind", "name"))
    group, _, plain = version.rpartition("/")
    release = rest.cluster.release
    if group or kind not in _BOUND:
        raise StatusError(400, f"cannot bind token to object of type {group}/{plain}, Kind={kind}", "BadRequest")
    if kind == "Node" and not release.enabled("ServiceAccountTokenNodeBinding"):
        why = 'cannot bind token to a Node object as the "ServiceAccountTokenNodeBinding" feature-gate is disabled'
        raise StatusError(400, why, "BadRequest")
    served = rest.resources.find("", "v1", _BOUND[kind])
    assert served is not None
    found = rest.get(served, target.namespace if served.namespaced else "", name)
    if kind == "Pod" and (found["spec"].get("serviceAccountName") or "") != target.name:
        why = "to pod running with different serviceaccount name."
        raise StatusError(400, f'cannot bind token for serviceaccount "{target.name}" {why}', "BadRequest")
    uid = found["metadata"].get("uid", "")
    if bound.get("uid") and bound["uid"] != uid:
        why = f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record. "
        why = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
        raise StatusError(409, f"{why}The object might have been deleted and then recreated", "Conflict")
    references = {kind.lower(): (name, uid)}
    if kind == "Pod" and found["spec"].get("nodeName") and release.enabled("ServiceAccountTokenPodNodeInfo"):
        references["node"] = _node_of(rest, str(found["spec"]["nodeName"]))
    return references


def _node_of(rest: Rest, name: str) -> tuple[str, str]:
    """Return name and UID of a pod's node; the UID is "" if the node does not exist."""
    nodes = rest.resources.find("", "v1", "nodes")
    assert nodes is not None
    try:
        return name, rest.get(nodes, "", name)["metadata"].get("uid", "")
    except StatusError:
        return name, ""


def _invalid(name: str, path: str, value: object, detail: str) -> StatusError:
    return StatusError(422, _INVALID.format(name=name, path=path, value=value, detail=detail), "Invalid")


def _time(moment: Any) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
