"""Tokens of service accounts: JSON Web Tokens with Kubernetes' claims, signed with the cluster's key (HS256).

A real cluster signs with a private key (RS256). Here the issuer of a token also verifies it, so one secret is enough.

Source: pkg/serviceaccount claims.go (Claims, privateClaims), jwt.go; KEP-1205; RFC 7519.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEGACY_ISSUER = "kubernetes/serviceaccount"
"""The issuer of tokens in Secrets. Source: serviceaccount.LegacyIssuer."""
_LEGACY = LEGACY_ISSUER.replace("kubernetes/", "kubernetes.io/")
MAX_TOKEN = 16 * 1024
"""The maximum length of a token that is decoded, in characters."""


class TokenSubject(NamedTuple):
    """The service account of a token, and the objects that the token is bound to.

    Attributes:
        namespace, name, uid: the namespace, name and UID of the service account.
        pod: the name and UID of the bound pod; None = no pod.
        node: the name of the pod's node.
        secret: the name of the Secret that contains the token; "" = no Secret.
    """

    namespace: str
    name: str
    uid: str
    pod: tuple[str, str] | None = None
    node: str = ""
    secret: str = ""


class TokenClaims(NamedTuple):
    """The claims of a verified token."""

    subject: TokenSubject
    audiences: tuple[str, ...]


def issue(
    key: bytes,
    subject: TokenSubject,
    now: datetime,
    seconds: int,
    audiences: Sequence[str] = (ISSUER,),
    warn_after: int = 0,
) -> str:
    """Return a signed token.

    Args:
        key: the cluster's key.
        subject: the service account and the bound objects.
        now: the date from which the token is valid.
        seconds: the lifetime in seconds.
        audiences: the intended audiences.
        warn_after: the seconds after which the API server warns about a token not renewed (`warnafter`); 0 = never.
    """
    start = int(now.timestamp())
    bound: dict[str, Any] = {
        "namespace": subject.namespace,
        "serviceaccount": {"name": subject.name, "uid": subject.uid},
    }
    if subject.pod is not None:
        bound["pod"] = {"name": subject.pod[0], "uid": subject.pod[1]}
    if subject.node:
        bound["node"] = {"name": subject.node}
    if warn_after:
        bound["warnafter"] = start + warn_after
    claims = {
        "aud": list(audiences),
        "exp": int((now + timedelta(seconds=seconds)).timestamp()),
        "iat": start,
        "iss": ISSUER,
        "kubernetes.io": bound,
        "nbf": start,
        "sub": f"system:serviceaccount:{subject.namespace}:{subject.name}",
    }
    return _signed(key, claims)


def issue_legacy(key: bytes, subject: TokenSubject) -> str:
    """Return a token for a Secret, without audience and expiry; it expires with the Secret. Source: LegacyClaims."""
    claims = {
        "iss": LEGACY_ISSUER,
        f"{_LEGACY}/namespace": subject.namespace,
        f"{_LEGACY}/secret.name": subject.secret,
        f"{_LEGACY}/service-account.name": subject.name,
        f"{_LEGACY}/service-account.uid": subject.uid,
        "sub": f"system:serviceaccount:{subject.namespace}:{subject.name}",
    }
    return _signed(key, claims)


def _signed(key: bytes, claims: Mapping[str, Any]) -> str:
    text = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
    return f"{text}.{_signature(key, text)}"


def verify(key: bytes, token: str, now: datetime) -> TokenClaims | None:
    """Return the claims of a token that this key has signed and that is valid now; None for any other."""
    text, _, signature = token.rpartition(".")
    if len(token) > MAX_TOKEN or text.count(".") != 1 or not token.isascii():
        return None
    # The signature is checked before anything of the token is decoded, and in constant time.
    if not hmac.compare_digest(_signature(key, text), signature):
        return None
    try:
        header, claims = (json.loads(_decoded(part)) for part in text.split("."))
        if header.get("alg") == "HS256" and claims["iss"] == LEGACY_ISSUER:
            fields = ("namespace", "service-account.name", "service-account.uid", "secret.name")
            namespace, name, uid, secret = (str(claims[f"{_LEGACY}/{field}"]) for field in fields)
            return TokenClaims(TokenSubject(namespace, name, uid, secret=secret), (ISSUER,))
        bound = claims["kubernetes.io"]
        account, pod = bound["serviceaccount"], bound.get("pod")
        holds = claims["nbf"] <= now.timestamp() < claims["exp"]
        if header.get("alg") != "HS256" or claims["iss"] != ISSUER or not holds:
            return None
        whose = TokenSubject(bound["namespace"], account["name"], account["uid"], pod and (pod["name"], pod["uid"]))
        return TokenClaims(whose, tuple(claims["aud"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _part(data: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(data, separators=(",", ":")).encode())


def _signature(key: bytes, text: str) -> str:
    return _encoded(hmac.digest(key, text.encode(), hashlib.sha256))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
