"""Tokens of service accounts: JSON Web Tokens with Kubernetes' claims, signed with the cluster's key (ES256).

kube-apiserver signs with an elliptic curve key or an RSA key, as configured; kubeadm makes an RSA key.

Source: pkg/serviceaccount claims.go (Claims, privateClaims), jwt.go, openidmetadata.go; KEP-1205, KEP-4193; RFC 7519.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from kitlib.api import p256

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEGACY_ISSUER = "kubernetes/serviceaccount"
"""The issuer of tokens in Secrets. Source: serviceaccount.LegacyIssuer."""
_LEGACY = LEGACY_ISSUER.replace("kubernetes/", "kubernetes.io/")
MAX_TOKEN = 16 * 1024
"""The maximum length of a token that is decoded, in characters."""
_ALGORITHM = "ES256"
_SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
"""The DER encoding of a SubjectPublicKeyInfo up to the point, for the curve P-256. Source: RFC 5480."""


_BOUND = ("pod", "node", "secret")
"""The claims with bound objects, which are fields of TokenSubject too."""


class TokenSubject(NamedTuple):
    """The service account of a token, and the objects that the token is bound to.

    Attributes:
        namespace, name, uid: the namespace, name and UID of the service account.
        pod: the name and UID of the bound pod; None = no pod.
        node: the name and UID of the pod's node or, without a pod, of the bound node; the UID "" is unknown.
        secret: the name and UID of the bound Secret; the UID "" stands for the Secret that contains the token.
    """

    namespace: str
    name: str
    uid: str
    pod: tuple[str, str] | None = None
    node: tuple[str, str] | None = None
    secret: tuple[str, str] | None = None


class TokenClaims(NamedTuple):
    """The claims of a verified token; `identifier` is its JTI, "" = none."""

    subject: TokenSubject
    audiences: tuple[str, ...]
    identifier: str = ""


def issue(
    key: bytes,
    subject: TokenSubject,
    now: datetime,
    seconds: int,
    audiences: Sequence[str] = (ISSUER,),
    warn_after: int = 0,
    identifier: str = "",
) -> str:
    """Return a signed token.

    Args:
        key: the cluster's key.
        subject: the service account and the bound objects.
        now: the date from which the token is valid.
        seconds: the lifetime in seconds.
        audiences: the intended audiences.
        warn_after: the seconds after which the API server warns about a token not renewed (`warnafter`); 0 = never.
        identifier: the UUID of the token (`jti`); "" = none.
    """
    start = int(now.timestamp())
    bound: dict[str, Any] = {
        "namespace": subject.namespace,
        "serviceaccount": {"name": subject.name, "uid": subject.uid},
    }
    for field in _BOUND:
        reference = getattr(subject, field)
        if reference is not None:
            bound[field] = {name: value for name, value in zip(("name", "uid"), reference, strict=True) if value}
    if warn_after:
        bound["warnafter"] = start + warn_after
    claims = {
        "aud": list(audiences),
        "exp": int((now + timedelta(seconds=seconds)).timestamp()),
        "iat": start,
        "iss": ISSUER,
        **({"jti": identifier} if identifier else {}),
        "kubernetes.io": bound,
        "nbf": start,
        "sub": f"system:serviceaccount:{subject.namespace}:{subject.name}",
    }
    return _signed(key, claims)


def issue_legacy(key: bytes, subject: TokenSubject) -> str:
    """Return a token for a Secret, without audience and expiry; it expires with the Secret. Source: LegacyClaims."""
    assert subject.secret is not None, "the Secret contains the token"
    claims = {
        "iss": LEGACY_ISSUER,
        f"{_LEGACY}/namespace": subject.namespace,
        f"{_LEGACY}/secret.name": subject.secret[0],
        f"{_LEGACY}/service-account.name": subject.name,
        f"{_LEGACY}/service-account.uid": subject.uid,
        "sub": f"system:serviceaccount:{subject.namespace}:{subject.name}",
    }
    return _signed(key, claims)


@lru_cache(maxsize=64)
def key_id(key: bytes) -> str:
    """Return the id of the cluster's key, as tokens and the key set name it. Source: keyIDFromPublicKey."""
    x, y = (one.to_bytes(p256.SIZE, "big") for one in p256.public_key(key))
    return _encoded(hashlib.sha256(b"".join((_SPKI, b"\4", x, y))).digest())


def key_set(key: bytes) -> dict[str, Any]:
    """Return the public part of the cluster's key as a JSON Web Key Set. Source: openIDKeysetJSON; RFC 7517."""
    x, y = (_encoded(one.to_bytes(p256.SIZE, "big")) for one in p256.public_key(key))
    found = {"use": "sig", "kty": "EC", "kid": key_id(key), "crv": "P-256", "alg": _ALGORITHM, "x": x, "y": y}
    return {"keys": [found]}


def discovery(keys: str) -> dict[str, Any]:
    """Return the discovery document of the tokens' issuer.

    Args:
        keys: the URL of the key set.

    Source: openIDConfigJSON; OpenID Connect Discovery 1.0.
    """
    return {
        "issuer": ISSUER,
        "jwks_uri": keys,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [_ALGORITHM],
    }


def _signed(key: bytes, claims: Mapping[str, Any]) -> str:
    text = f"{_part({'alg': _ALGORITHM, 'kid': key_id(key)})}.{_part(claims)}"
    return f"{text}.{_encoded(p256.sign(key, text.encode()))}"


def verify(key: bytes, token: str, now: datetime) -> TokenClaims | None:
    """Return the claims of a token that this key has signed and that is valid now; None for any other."""
    text, _, signature = token.rpartition(".")
    if len(token) > MAX_TOKEN or text.count(".") != 1 or not token.isascii():
        return None
    try:
        # The signature is checked before anything else of the token is decoded.
        if not p256.is_signed(p256.public_key(key), text.encode(), _decoded(signature)):
            return None
        header, claims = (json.loads(_decoded(part)) for part in text.split("."))
        if header.get("alg") == _ALGORITHM and claims["iss"] == LEGACY_ISSUER:
            fields = ("namespace", "service-account.name", "service-account.uid", "secret.name")
            namespace, name, uid, secret = (str(claims[f"{_LEGACY}/{field}"]) for field in fields)
            return TokenClaims(TokenSubject(namespace, name, uid, secret=(secret, "")), (ISSUER,))
        bound = claims["kubernetes.io"]
        account = bound["serviceaccount"]
        holds = claims["nbf"] <= now.timestamp() < claims["exp"]
        if header.get("alg") != _ALGORITHM or claims["iss"] != ISSUER or not holds:
            return None
        references = {field: (one["name"], one.get("uid", "")) for field in _BOUND if (one := bound.get(field))}
        whose = TokenSubject(bound["namespace"], account["name"], account["uid"], **references)
        return TokenClaims(whose, tuple(claims["aud"]), str(claims.get("jti", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _part(data: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(data, separators=(",", ":")).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
