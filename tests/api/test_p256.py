"""Signatures on P-256: the vectors of RFC 6979, and what is no signature."""

from __future__ import annotations

import pytest

from kitlib.api import p256

SCALAR = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
KEY = (SCALAR - 1).to_bytes(p256.SIZE, "big")  # any key is mapped to a scalar from 1 on
PUBLIC = p256.Point(
    0x60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6,
    0x7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299,
)
SAMPLE = (
    "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
)
TEST = (
    "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
    "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
)


def test_the_public_key_is_that_of_the_vectors() -> None:
    """Source: RFC 6979, A.2.5."""
    assert p256.public_key(KEY) == PUBLIC


@pytest.mark.parametrize(("message", "signature"), [(b"sample", SAMPLE), (b"test", TEST)])
def test_a_signature_is_that_of_the_vectors(message: bytes, signature: str) -> None:
    """Source: RFC 6979, A.2.5, with SHA-256."""
    assert p256.sign(KEY, message).hex() == signature
    assert p256.is_signed(PUBLIC, message, bytes.fromhex(signature))


@pytest.mark.parametrize("key", [bytes(32), b"\xff" * 32, b"k"], ids=["zero", "above the order", "short"])
def test_any_key_signs(key: bytes) -> None:
    assert p256.is_signed(p256.public_key(key), b"m", p256.sign(key, b"m"))


@pytest.mark.parametrize(
    ("message", "signature"),
    [
        (b"other", SAMPLE),
        (b"sample", TEST),
        (b"sample", SAMPLE[:-2]),
        (b"sample", ""),
        (b"sample", "0" * 64 + SAMPLE[64:]),
        (b"sample", SAMPLE[:64] + "0" * 64),
        (b"sample", "f" * 64 + SAMPLE[64:]),
    ],
    ids=["message", "signature", "cut", "empty", "r of 0", "s of 0", "r above the order"],
)
def test_another_signature_is_none(message: bytes, signature: str) -> None:
    assert not p256.is_signed(PUBLIC, message, bytes.fromhex(signature))
