"""Tokens: what they say, and which are not believed."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api import p256
from kitlib.api.service_account_token import (
    ISSUER,
    TokenSubject,
    discovery,
    issue,
    issue_legacy,
    key_id,
    key_set,
    verify,
)

KEY = b"k" * 32
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WHOSE = TokenSubject("default", "bot", "u1", ("web", "p1"), ("node-1", "n1"))


def parts(token: str) -> list[dict[str, object]]:
    return [json.loads(base64.urlsafe_b64decode(one + "===")) for one in token.split(".")[:2]]


def test_the_claims_are_those_of_a_real_token() -> None:
    header, claims = parts(issue(KEY, WHOSE, NOW, 600, warn_after=60, identifier="j1"))
    start = int(NOW.timestamp())
    assert header == {"alg": "ES256", "kid": key_id(KEY)}
    assert claims == {
        "aud": [ISSUER],
        "exp": start + 600,
        "iat": start,
        "iss": ISSUER,
        "jti": "j1",
        "nbf": start,
        "sub": "system:serviceaccount:default:bot",
        "kubernetes.io": {
            "namespace": "default",
            "serviceaccount": {"name": "bot", "uid": "u1"},
            "pod": {"name": "web", "uid": "p1"},
            "node": {"name": "node-1", "uid": "n1"},
            "warnafter": start + 60,
        },
    }


def test_it_is_believed_while_it_holds() -> None:
    token = issue(KEY, WHOSE, NOW, 600, ("a", "b"), identifier="j1")
    found = verify(KEY, token, NOW + timedelta(seconds=599))
    assert found is not None
    assert found == (WHOSE, ("a", "b"), "j1")
    assert verify(KEY, token, NOW + timedelta(seconds=600)) is None
    assert verify(KEY, token, NOW - timedelta(seconds=1)) is None


def test_a_secrets_token_has_the_older_claims_and_no_end() -> None:
    """Source: LegacyClaims."""
    whose = TokenSubject("default", "bot", "u1", secret=("bot-token", ""))
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
    assert verify(KEY, token, NOW + timedelta(days=10_000)) == (whose, (ISSUER,), "")
    assert verify(b"o" * 32, token, NOW) is None


def signed(header: dict[str, object], claims: object) -> str:
    """With the right key."""
    from kitlib.api.service_account_token import _encoded

    text = ".".join(_encoded(json.dumps(one).encode()) for one in (header, claims))
    return f"{text}.{_encoded(p256.sign(KEY, text.encode()))}"


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
        signed({"alg": "HS256"}, parts(GOOD)[1]),
        signed({"alg": "ES256"}, {"iss": ISSUER}),
        signed({"alg": "ES256"}, [1]),
        signed({"alg": "ES256"}, {**parts(GOOD)[1], "iss": "other"}),
        signed({"alg": "ES256"}, {**parts(GOOD)[1], "exp": "soon"}),
    ],
)
def test_any_other_token_is_nobodys(token: str) -> None:
    assert verify(KEY, token, NOW) is None


def test_a_relying_party_verifies_a_token_with_the_published_key() -> None:
    """The steps of a client of OpenID Connect, with another library than the one that signs."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    def number(text: str) -> int:
        return int.from_bytes(base64.urlsafe_b64decode(text + "==="), "big")

    (published,) = key_set(KEY)["keys"]
    assert (published["kty"], published["crv"], published["use"]) == ("EC", "P-256", "sig")
    assert discovery("https://x/jwks")["id_token_signing_alg_values_supported"] == [published["alg"]]
    public = ec.EllipticCurvePublicNumbers(number(published["x"]), number(published["y"]), ec.SECP256R1()).public_key()
    text, _, signature = GOOD.rpartition(".")
    assert parts(GOOD)[0]["kid"] == published["kid"]
    both = base64.urlsafe_b64decode(signature + "==")
    halves = (int.from_bytes(both[:32], "big"), int.from_bytes(both[32:], "big"))
    public.verify(utils.encode_dss_signature(*halves), text.encode(), ec.ECDSA(hashes.SHA256()))
    # keyIDFromPublicKey: the hash of the key as a SubjectPublicKeyInfo
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    digest = hashes.Hash(hashes.SHA256())
    digest.update(der)
    assert base64.urlsafe_b64decode(str(published["kid"]) + "=") == digest.finalize()
