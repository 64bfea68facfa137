"""Signatures with the elliptic curve P-256 and SHA-256: the algorithm ES256 of JSON Web Tokens.

Written in Python, because the control plane in a container, and in a browser, has no cryptographic library. The nonce
follows from key and message (RFC 6979), so that a replay signs the same tokens. The run time depends on the key, which
matters on a shared machine only: the keys are made for one run of a cluster.

Source: FIPS 186-5; SEC 1; RFC 6979 section 3.2; RFC 7518 section 3.4.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

SIZE = 32
"""The length of a key, of a coordinate and of each half of a signature, in bytes."""
_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class Point(NamedTuple):
    """A point of the curve by its affine coordinates."""

    x: int
    y: int


_BASE = Point(
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_Jacobian = tuple[int, int, int]
"""(X, Y, Z) for the point (X / Z², Y / Z³); Z = 0 is the point at infinity. Additions need no division."""


def _doubled(point: _Jacobian) -> _Jacobian:
    """Source: the formulas dbl-2001-b, for curves with the coefficient a = -3."""
    x, y, z = point
    delta, gamma = z * z % _P, y * y % _P
    beta, alpha = x * gamma % _P, 3 * (x - delta) * (x + delta) % _P
    across = (alpha * alpha - 8 * beta) % _P
    up = (alpha * (4 * beta - across) - 8 * gamma * gamma) % _P
    return across, up, ((y + z) * (y + z) - gamma - delta) % _P


def _added(point: _Jacobian, other: _Jacobian) -> _Jacobian:
    """Source: the formulas add-2007-bl."""
    (x, y, z), (u, v, w) = point, other
    if not z or not w:
        return other if not z else point
    zz, ww = z * z % _P, w * w % _P
    left, right = x * ww % _P, u * zz % _P
    low, high = y * w * ww % _P, v * z * zz % _P
    h, r = (right - left) % _P, (high - low) % _P
    if not h:
        return _doubled(point) if not r else (1, 1, 0)
    hh = h * h % _P
    hhh, middle = h * hh % _P, left * hh % _P
    across = (r * r - hhh - 2 * middle) % _P
    return across, (r * (middle - across) - low * hhh) % _P, z * w * h % _P


def _times(scalar: int, point: Point) -> _Jacobian:
    found, step = (1, 1, 0), (*point, 1)
    for bit in bin(scalar)[2:]:
        found = _doubled(found)
        if bit == "1":
            found = _added(found, step)
    return found


def _affine(point: _Jacobian) -> Point:
    inverse = pow(point[2], -1, _P)
    square = inverse * inverse % _P
    return Point(point[0] * square % _P, point[1] * square * inverse % _P)


def _scalar(key: bytes) -> int:
    """Return the private scalar, from 1 to the order less 1, of any key."""
    return int.from_bytes(key, "big") % (_ORDER - 1) + 1


def _digest(message: bytes) -> int:
    return int.from_bytes(sha256(message).digest(), "big")


@lru_cache(maxsize=64)
def public_key(key: bytes) -> Point:
    """Return the public key of a private key.

    Args:
        key: the private key, usually 32 random bytes.
    """
    return _affine(_times(_scalar(key), _BASE))


def _nonce(scalar: int, digest: int) -> int:
    """Return the nonce of a signature, from 1 to the order less 1. Source: RFC 6979 section 3.2."""
    seed = scalar.to_bytes(SIZE, "big") + (digest % _ORDER).to_bytes(SIZE, "big")
    value, key = b"\1" * SIZE, b"\0" * SIZE
    for mark in (b"\0", b"\1"):
        key = hmac.digest(key, value + mark + seed, "sha256")
        value = hmac.digest(key, value, "sha256")
    while True:
        value = hmac.digest(key, value, "sha256")
        if 0 < (nonce := int.from_bytes(value, "big")) < _ORDER:
            return nonce
        key = hmac.digest(key, value + b"\0", "sha256")
        value = hmac.digest(key, value, "sha256")


def sign(key: bytes, message: bytes) -> bytes:
    """Return the signature of a message: r and s, 32 bytes each."""
    scalar, digest = _scalar(key), _digest(message)
    nonce = _nonce(scalar, digest)
    r = _affine(_times(nonce, _BASE)).x % _ORDER
    s = pow(nonce, -1, _ORDER) * (digest + r * scalar) % _ORDER
    return r.to_bytes(SIZE, "big") + s.to_bytes(SIZE, "big")


@lru_cache(maxsize=1024)  # a client sends the same token with each request
def is_signed(public: Point, message: bytes, signature: bytes) -> bool:
    """Return whether a signature of a message is valid for a public key."""
    r, s = int.from_bytes(signature[:SIZE], "big"), int.from_bytes(signature[SIZE:], "big")
    if len(signature) != 2 * SIZE or not (0 < r < _ORDER and 0 < s < _ORDER):
        return False
    inverse = pow(s, -1, _ORDER)
    found = _added(_times(_digest(message) * inverse % _ORDER, _BASE), _times(r * inverse % _ORDER, public))
    return bool(found[2]) and _affine(found).x % _ORDER == r
