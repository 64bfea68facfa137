"""Who a request comes from: bearer tokens and the users behind them; only their hashes are kept.

Tokens of service accounts are verified by their signature; one that is bound to a pod ends with it.

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
"""For whom a token must be. Source: kube-apiserver --api-audiences."""


@dataclass(frozen=True)
class User:
    """Who asks.

    Attributes:
        name: `kubernetes-admin`, `viewer`, `system:serviceaccount:default:web`.
        groups: that the user is in.
        uid: of a service account.
        impersonated_by: the user who asks in this one's name; "" = nobody.
    """

    name: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""
    impersonated_by: str = ""

    @property
    def sender(self) -> str:
        """The user who asks: this one, or who acts for it."""
        return self.impersonated_by or self.name

    @property
    def is_master(self) -> bool:
        """Whether everything is allowed without a look at roles."""
        return MASTERS in self.groups

    def sign(self, request: CertificateSigningRequest) -> None:
        """Put this user down as the one who asks for the certificate, whatever the request says.

        Source: csrStrategy.PrepareForCreate.
        """
        sender = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": {}}
        request.spec = msgspec.structs.replace(request.spec, **sender)


ADMINISTRATOR = User(ADMIN, requester.ADMINISTRATOR.groups)


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user that a service account is. Source: serviceaccount.UserInfo."""
    who = requester.service_account(namespace, name, uid)
    return User(who.name, who.groups, who.uid)


def new_token() -> str:
    """A bearer token with 256 bits of chance."""
    return secrets.token_urlsafe(32)


class Users:
    """The tokens of one served cluster.

    Args:
        exists: (kind, namespace, name, UID) -> whether there is such an object; a Secret is known by its token.
        clock: the cluster's time.

    Attributes:
        key: signs the tokens of service accounts.
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
        """A token for a user; those that have expired are forgotten.

        Args:
            user: whose.
            token: the token; "" = a new one.
            seconds: for which it holds.
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
        """The user of a token; every known one is compared, in constant time."""
        wanted, found = _hash(token), None
        for known, (user, until) in self._by_hash.items():
            if hmac.compare_digest(known, wanted) and time.monotonic() < until:
                found = user
        return found if found is not None else self._of_signature(token)

    def _of_signature(self, token: str) -> User | None:
        """The service account of a signed token, while the account and the pod or Secret that it is bound to are there.

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
        """The user of an `Authorization` header."""
        kind, _, token = authorization.partition(" ")
        return self.of_token(token.strip()) if kind.lower() == "bearer" and token else None


def life(asked: object) -> int:
    """Seconds for which a requested token holds. Source: registry/core/serviceaccount/storage token.go."""
    return max(_SHORTEST_LIFE, asked) if isinstance(asked, int) and not isinstance(asked, bool) else _DEFAULT_LIFE


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
