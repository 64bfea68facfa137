"""Authentication: bearer tokens and their users; only the hashes of tokens are stored.

Tokens of service accounts are verified by their signature; one that is bound to a pod expires with it.

Source: apiserver authentication (user.Info, system:serviceaccount:…), TokenRequest.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from kitlib.api import service_account_token
from kitlib.api.certificates import CertificateSigningRequest
from kitlib.apiserver.admission import requester
from kitlib.apiserver.admission.requester import AUTHENTICATED, MASTERS

ADMIN = requester.ADMINISTRATOR.name

_DEFAULT_LIFE, _SHORTEST_LIFE = 3600, 600
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
    """

    name: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""
    impersonated_by: str = ""

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
        sender = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": {}}
        request.spec = msgspec.structs.replace(request.spec, **sender)


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

    def of_token(self, token: str) -> User | None:
        """Return the user of a token; the token is compared with every known one in constant time."""
        wanted, found = _hash(token), None
        # The loop does not stop at a match, so that its duration does not depend on the token.
        for known, (user, until) in self._by_hash.items():
            if hmac.compare_digest(known, wanted) and time.monotonic() < until:
                found = user
        return found if found is not None else self._of_signature(token)

    def _of_signature(self, token: str) -> User | None:
        """Return the service account of a signed token, if the account and its bound pod or Secret still exist.

        Source: pkg/serviceaccount validator.Validate, legacyValidator.Validate.
        """
        claims = service_account_token.verify(self.key, token, self.clock())
        if claims is None or not {*claims.audiences} & {*AUDIENCES}:
            return None
        namespace, name, uid, pod, _, secret = claims.subject
        if not self._exists("ServiceAccount", namespace, name, uid):
            return None
        if pod is not None and not self._exists("Pod", namespace, *pod):
            return None
        if secret and not self._exists("Secret", namespace, secret, token):
            return None
        return service_account(namespace, name, uid)

    def of_header(self, authorization: str) -> User | None:
        """Return the user of an `Authorization` header."""
        kind, _, token = authorization.partition(" ")
        return self.of_token(token.strip()) if kind.lower() == "bearer" and token else None


def life(asked: object) -> int:
    """Return the validity of a requested token in seconds. Source: registry/core/serviceaccount/storage token.go."""
    return max(_SHORTEST_LIFE, asked) if isinstance(asked, int) and not isinstance(asked, bool) else _DEFAULT_LIFE


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
