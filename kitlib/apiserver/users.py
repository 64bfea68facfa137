"""Who a request comes from: bearer tokens and the users behind them; only their hashes are kept.

Source: apiserver authentication (user.Info, system:serviceaccount:…), TokenRequest.
"""

from __future__ import annotations

import hmac
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256

MASTERS, AUTHENTICATED = "system:masters", "system:authenticated"
ADMIN = "kubernetes-admin"
_DEFAULT_LIFE, _SHORTEST_LIFE = 3600, 600
MAX_TOKENS = 10_000


@dataclass(frozen=True)
class User:
    """Who asks.

    Attributes:
        name: `kubernetes-admin`, `viewer`, `system:serviceaccount:default:web`.
        groups: that the user is in.
        uid: of a service account.
    """

    name: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""

    @property
    def is_master(self) -> bool:
        """Whether everything is allowed without a look at roles."""
        return MASTERS in self.groups


ADMINISTRATOR = User(ADMIN, (MASTERS, AUTHENTICATED))


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user that a service account is. Source: serviceaccount.UserInfo."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)


def new_token() -> str:
    """A bearer token with 256 bits of chance."""
    return secrets.token_urlsafe(32)


class Users:
    """The tokens of one served cluster."""

    def __init__(self) -> None:
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
        return found

    def of_header(self, authorization: str) -> User | None:
        """The user of an `Authorization` header."""
        kind, _, token = authorization.partition(" ")
        return self.of_token(token.strip()) if kind == "Bearer" and token else None


def life(asked: object) -> int:
    """Seconds for which a requested token holds. Source: registry/core/serviceaccount/storage token.go."""
    return max(_SHORTEST_LIFE, asked) if isinstance(asked, int) and not isinstance(asked, bool) else _DEFAULT_LIFE


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
