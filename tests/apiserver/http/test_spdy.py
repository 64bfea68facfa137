"""SPDY frames: the protocol's dictionary, a whole exchange, and what is refused."""

from __future__ import annotations

import struct
import zlib

import pytest

from kitlib.apiserver.http.spdy import DICTIONARY, FIN, PING, SYN_STREAM, Framer, SpdyError


def opened(compressor: object, number: int, last: bool = False, **headers: str) -> bytes:
    block = struct.pack(">I", len(headers))
    for name, value in headers.items():
        block += struct.pack(">I", len(name)) + name.encode() + struct.pack(">I", len(value)) + value.encode()
    body = compressor.compress(block) + compressor.flush(zlib.Z_SYNC_FLUSH)  # type: ignore[attr-defined]
    body = struct.pack(">IIH", number, 0, 0) + body
    return struct.pack(">HHI", 0x8003, SYN_STREAM, (FIN if last else 0) << 24 | len(body)) + body


def test_the_dictionary_is_the_protocols() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_streams_data_and_pings_are_read_however_they_are_cut() -> None:
    compressor = zlib.compressobj(zdict=DICTIONARY)
    whole = opened(compressor, 1, streamtype="error", port="80", requestid="0")
    whole += opened(compressor, 3, streamtype="data", port="80", requestid="0")
    whole += Framer().data(3, b"hello", last=True) + struct.pack(">HHII", 0x8003, PING, 4, 7)
    framer, found = Framer(), []
    for at in range(0, len(whole), 5):
        found += framer.feed(whole[at : at + 5])
    assert [(f.kind, f.stream, f.last) for f in found] == [(1, 1, False), (1, 3, False), (0, 3, True), (6, 7, False)]
    assert found[1].headers == {"streamtype": "data", "port": "80", "requestid": "0"}
    assert found[2].data == b"hello"
    assert framer.pong(7) == struct.pack(">HHII", 0x8003, PING, 4, 7)


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack(">II", 1, 0xFFFFFF),
        struct.pack(">HHI", 0x8002, SYN_STREAM, 0),
        struct.pack(">HHI", 0x8003, SYN_STREAM, 2) + b"xx",
        struct.pack(">HHI", 0x8003, SYN_STREAM, 12) + b"\0" * 10 + b"xx",
    ],
    ids=["a frame without end", "another version", "a short frame", "headers that are not compressed"],
)
def test_what_is_no_spdy_is_refused(raw: bytes) -> None:
    with pytest.raises(SpdyError):
        Framer().feed(raw)
