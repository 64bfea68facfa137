"""Tokens: what they say, and which are not believed."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api.service_account_token import ISSUER, TokenSubject, issue, issue_legacy, verify

KEY = b"k" * 32
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WHOSE = TokenSubject("default", "bot", "u1", ("web", "p1"), "node-1")


def parts(token: str) -> list[dict[str, object]]:
    return [json.loads(base64.urlsafe_b64decode(one + "===")) for one in token.split(".")[:2]]


def test_the_claims_are_those_of_a_real_token() -> None:
    header, claims = parts(issue(KEY, WHOSE, NOW, 600, warn_after=60))
    start = int(NOW.timestamp())
    assert header == {"alg": "HS256", "typ": "JWT"}
    assert claims == {
        "aud": [ISSUER],
        "exp": start + 600,
        "iat": start,
        "iss": ISSUER,
        "nbf": start,
        "sub": "system:serviceaccount:default:bot",
        "kubernetes.io": {
            "namespace": "default",
            "serviceaccount": {"name": "bot", "uid": "u1"},
            "pod": {"name": "web", "uid": "p1"},
            "node": {"name": "node-1"},
            "warnafter": start + 60,
        },
    }


def test_it_is_believed_while_it_holds() -> None:
    token = issue(KEY, WHOSE, NOW, 600, ("a", "b"))
    found = verify(KEY, token, NOW + timedelta(seconds=599))
    assert found is not None
    assert (found.subject, found.audiences) == (WHOSE._replace(node=""), ("a", "b"))
    assert verify(KEY, token, NOW + timedelta(seconds=600)) is None
    assert verify(KEY, token, NOW - timedelta(seconds=1)) is None


def test_a_secrets_token_has_the_older_claims_and_no_end() -> None:
    """Source: LegacyClaims."""
    whose = TokenSubject("default", "bot", "u1", secret="bot-token")
    token = issue_legacy(KEY, whose)
    prefix = "kubernetes.io/serviceaccount"
    assert parts(token)[1] == {
        "iss": "kubernetes/serviceaccount",
        f"{prefix}/namespace": "default",
        f"{prefix}/secret.name": "bot-token",
        f"{prefix}/service-account.name": "bot",
        f"{prefix}/service-account.uid": "u1",
        "sub": "system:serviceaccount:default:bot",
    }
    assert verify(KEY, token, NOW + timedelta(days=10_000)) == (whose, (ISSUER,))
    assert verify(b"o" * 32, token, NOW) is None


def signed(header: dict[str, object], claims: object) -> str:
    """With the right key."""
    from kitlib.api.service_account_token import _encoded, _signature

    text = ".".join(_encoded(json.dumps(one).encode()) for one in (header, claims))
    return f"{text}.{_signature(KEY, text)}"


GOOD = issue(KEY, WHOSE, NOW, 600)
OTHER = issue(b"o" * 32, WHOSE._replace(name="admin"), NOW, 600)


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        GOOD + "x",
        GOOD.replace(".", "", 1),
        OTHER,
        ".".join([*OTHER.split(".")[:2], GOOD.split(".")[2]]),
        "é.é.é",
        "x" * 20_000,
        signed({"alg": "none"}, parts(GOOD)[1]),
        signed({"alg": "HS256"}, {"iss": ISSUER}),
        signed({"alg": "HS256"}, [1]),
        signed({"alg": "HS256"}, {**parts(GOOD)[1], "iss": "other"}),
        signed({"alg": "HS256"}, {**parts(GOOD)[1], "exp": "soon"}),
    ],
)
def test_any_other_token_is_nobodys(token: str) -> None:
    assert verify(KEY, token, NOW) is None
