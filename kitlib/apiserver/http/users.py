"""Authentication: bearer tokens and their users; only the hashes of tokens are stored.

Tokens of service accounts are verified by their signature; one that is bound to a pod expires with it.

Source: apiserver authentication (user.Info, system:serviceaccount:…), TokenRequest.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

import msgspec

from kitlib.api import service_account_token
from kitlib.api.certificates import CertificateSigningRequest
from kitlib.apiserver.admission import requester
from kitlib.apiserver.admission.requester import AUTHENTICATED, MASTERS

ADMIN = requester.ADMINISTRATOR.name

MAX_TOKENS = 10_000
AUDIENCES = (service_account_token.ISSUER, "https://kubernetes.default.svc")
"""The accepted audiences of a token. Source: kube-apiserver --api-audiences."""


@dataclass(frozen=True)
class User:
    """The user of a request.

    Attributes:
        name: `kubernetes-admin`, `viewer`, `system:serviceaccount:default:web`.
        groups: the user's groups.
        uid: the UID of a service account.
        impersonated_by: the name of the user who impersonates this one; "" = no impersonation.
        extra: further attributes, each with its values.
    """

    name: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""
    impersonated_by: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def requester(self, client: str = "", options: Mapping[str, str | list[str]] | None = None) -> requester.Requester:
        """Return this user as the requesting user of a write."""
        given = dict(options or {})
        return requester.Requester(self.name, self.groups, self.uid, client, self.extra, given, self.impersonated_by)

    @property
    def sender(self) -> str:
        """The name of the user who made the request: this one, or the one who impersonates it."""
        return self.impersonated_by or self.name

    @property
    def is_master(self) -> bool:
        """Whether the user is in system:masters, for which roles are not checked."""
        return MASTERS in self.groups

    def sign(self, request: CertificateSigningRequest) -> None:
        """Record this user as the requesting user of a certificate; the fields in the request are overwritten.

        Source: csrStrategy.PrepareForCreate.
        """
        request.spec = msgspec.structs.replace(request.spec, **self.requester().info)


class Authenticated(NamedTuple):
    """The user of a token, and the audiences of the token that are accepted."""

    user: User
    audiences: tuple[str, ...]


ADMINISTRATOR = User(ADMIN, requester.ADMINISTRATOR.groups)


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """Return the user of a service account. Source: serviceaccount.UserInfo."""
    who = requester.service_account(namespace, name, uid)
    return User(who.name, who.groups, who.uid)


def new_token() -> str:
    """Return a random bearer token of 256 bits."""
    return secrets.token_urlsafe(32)


class Users:
    """The tokens of one served cluster.

    Args:
        exists: (kind, namespace, name, UID) -> whether the object exists; a Secret is identified by its token.
        clock: the cluster's clock.

    Attributes:
        key: the key that signs the tokens of service accounts.
    """

    def __init__(
        self,
        exists: Callable[[str, str, str, str], bool] = lambda kind, namespace, name, uid: False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._exists, self.clock = exists, clock
        self.key = secrets.token_bytes(32)
        self._by_hash: dict[bytes, tuple[User, float]] = {}

    def add(self, user: User, token: str = "", seconds: float = float("inf")) -> str:
        """Add a token of a user and return it; expired tokens are removed.

        Args:
            user: the token's user.
            token: the token; "" = a new one.
            seconds: the validity in seconds.
        """
        now = time.monotonic()
        self._by_hash = {key: one for key, one in self._by_hash.items() if one[1] > now}
        while len(self._by_hash) >= MAX_TOKENS:
            oldest = min(self._by_hash, key=lambda key: self._by_hash[key][1])
            del self._by_hash[oldest]
        token = token or new_token()
        self._by_hash[_hash(token)] = user, now + seconds
        return token

    def of_token(self, token: str, audiences: Sequence[str] = ()) -> Authenticated | None:
        """Return the user of a token; the token is compared with every known one in constant time.

        Args:
            token: the token.
            audiences: the accepted audiences; () = those of the API server.
        """
        wanted, found = _hash(token), None
        # The loop does not stop at a match, so that its duration does not depend on the token.
        for known, (user, until) in self._by_hash.items():
            if hmac.compare_digest(known, wanted) and time.monotonic() < until:
                found = user
        # A token that is not signed has the audiences of the API server. Source: WrapAudienceAgnosticToken.
        made = Authenticated(found, AUDIENCES) if found is not None else self._of_signature(token)
        if made is None:
            return None
        shared = tuple(audience for audience in audiences or AUDIENCES if audience in made.audiences)
        return made._replace(audiences=shared) if shared else None

    def _of_signature(self, token: str) -> Authenticated | None:
        """Return the service account of a signed token, if the account and the bound object still exist.

        Source: pkg/serviceaccount validator.Validate, legacyValidator.Validate.
        """
        claims = service_account_token.verify(self.key, token, self.clock())
        if claims is None:
            return None
        subject = claims.subject
        namespace = subject.namespace
        if not self._exists("ServiceAccount", namespace, subject.name, subject.uid):
            return None
        if subject.pod is not None and not self._exists("Pod", namespace, *subject.pod):
            return None
        # The node of a pod is information: the token is bound to the pod.
        if subject.node is not None and subject.pod is None and not self._exists("Node", "", *subject.node):
            return None
        # A Secret that contains the token has no UID in it and is identified by the token.
        if subject.secret and not self._exists("Secret", namespace, subject.secret[0], subject.secret[1] or token):
            return None
        user = service_account(namespace, subject.name, subject.uid)
        return Authenticated(replace(user, extra=_extra(claims)), claims.audiences)

    def of_header(self, authorization: str) -> User | None:
        """Return the user of an `Authorization` header."""
        kind, _, token = authorization.partition(" ")
        found = self.of_token(token.strip()) if kind.lower() == "bearer" and token else None
        return None if found is None else found.user


def _extra(claims: service_account_token.TokenClaims) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the extra attributes of a token's user.

    Source: serviceaccount.ServiceAccountInfo.UserInfo; authentication/token/jwt CredentialIDForJTI.
    """
    found = []
    for kind in ("pod", "node"):
        named = getattr(claims.subject, kind)
        found += [(f"{kind}-{field}", one) for field, one in zip(("name", "uid"), named or (), strict=False) if one]
    if claims.identifier:
        found.append(("credential-id", f"JTI={claims.identifier}"))
    return tuple((f"authentication.kubernetes.io/{name}", (value,)) for name, value in found)


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
