"""Tokens of service accounts for the volumes of pods, renewed after four fifths of their lifetime.

A token is sent to a node as a Secret with a name that is invalid for real Secrets.

Source: kubelet token.Manager (GetServiceAccountToken, requiresRefresh); registry/core/serviceaccount/storage token.go.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from kitlib.api.core import Node, Pod, Secret, ServiceAccount
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.kubelet.pods.objects import Reference, TokenReference

EXPIRATION_EXTENSION = 365 * 24 * 3600
MAX_AGE = timedelta(hours=24)


class _Issued(NamedTuple):
    secret: Secret
    renew_at: datetime


class ProjectedTokens:
    """The projected tokens of one node's pods."""

    def __init__(self) -> None:
        self._issued: dict[Reference, _Issued] = {}

    def find(self, api: APIServer, reference: Reference) -> Secret | None:
        """Return the token for a reference; None if the cluster issues no tokens, or pod or account are deleted."""
        asked = TokenReference.parse(reference)
        if asked is None or not api.token_key:
            return None
        now = api.store.now()
        known = self._issued.get(reference)
        if known is not None and now < known.renew_at:
            return known.secret
        pod = api.store.find(Pod, asked.pod, reference.namespace, copy=False)
        account = pod and api.store.find(ServiceAccount, pod.spec.service_account_name, pod.namespace, copy=False)
        if pod is None or account is None or pod.metadata.uid != asked.uid:
            return None
        made = _issue(api, pod, account, asked, now)
        self._issued = {one: issued for one, issued in self._issued.items() if now < issued.renew_at}
        self._issued[reference] = _Issued(_secret(reference, made, now), now + _renewed_after(asked.seconds))
        return self._issued[reference].secret


def _issue(api: APIServer, pod: Pod, account: ServiceAccount, asked: TokenReference, now: datetime) -> str:
    import uuid

    from kitlib.api import service_account_token
    from kitlib.apiserver.admission.service_account import WARN_ONLY_EXPIRATION

    meta, name, release = pod.metadata, pod.spec.node_name, api.release
    node = api.store.find(Node, name, copy=False)
    whose = service_account_token.TokenSubject(
        pod.namespace,
        account.name,
        account.metadata.uid,
        (meta.name, meta.uid),
        (name, node.metadata.uid if node else "") if release.enabled("ServiceAccountTokenPodNodeInfo") else None,
    )
    # The default token of a pod lives a year and warns after an hour, for clients that do not reload it. Source:
    # TokenREST.Create (--service-account-extend-token-expiration).
    extended = asked.seconds == WARN_ONLY_EXPIRATION and not asked.audience
    # A replay issues the same tokens.
    identifier = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{meta.uid}/{asked.audience}/{asked.seconds}/{now.isoformat()}"))
    return service_account_token.issue(
        api.token_key,
        whose,
        now,
        EXPIRATION_EXTENSION if extended else asked.seconds,
        (asked.audience or service_account_token.ISSUER,),
        asked.seconds if extended else 0,
        identifier if release.enabled("ServiceAccountTokenJTI") else "",
    )


def _secret(reference: Reference, token: str, now: datetime) -> Secret:
    meta = ObjectMeta(
        name=reference.name, namespace=reference.namespace, uid=reference.name, resource_version=now.isoformat()
    )
    return Secret(metadata=meta, data={"token": token.encode()})


def _renewed_after(seconds: int) -> timedelta:
    """Source: token.Manager.requiresRefresh (without its jitter)."""
    return min(timedelta(seconds=0.8 * seconds), MAX_AGE)
