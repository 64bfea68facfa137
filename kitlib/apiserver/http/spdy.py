"""SPDY/3.1 frames, as kubectl sends them over an upgraded connection, or through a WebSocket for `port-forward`.

A connection has streams; each has headers, data in both directions, and each direction is closed separately. Header
blocks are compressed with one zlib stream per direction and the protocol's own dictionary.

Source: SPDY Protocol draft 3.1 (frames, name/value header block); KEP-4006; client-go transport/spdy.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
FIN = 0x01
VERSION = 3
MAX_FRAME = 1 << 20
"""The maximum size of a frame in bytes."""
MAX_HEADERS = 16 << 10
"""The maximum size of a decompressed header block in bytes."""
_NAMES = """
options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow
authorization cache-control connection content-base content-encoding content-language content-length content-location
content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match
if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range
referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method
get status
"""
_MORE = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = (
    b"".join(struct.pack(">I", len(name)) + name.encode() for name in (*_NAMES.split(), *_MORE)) + _TAIL.encode()
)
"""The dictionary of header blocks; its Adler-32 checksum is e3c6a7c2."""


class SpdyError(Exception):
    """A violation of the protocol or of its limits."""


class SPDYFrame(NamedTuple):
    """A received frame.

    Attributes:
        kind: the type of a control frame; 0 = data.
        stream: the stream's number, or a ping's.
        data: the payload of a data frame.
        headers: the headers of a new stream, names in lower case.
        last: whether the sender closes its direction of the stream.
    """

    kind: int
    stream: int
    data: bytes = b""
    headers: Mapping[str, str] = {}
    last: bool = False


class Framer:
    """The frames of one connection in both directions."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, piece: bytes) -> list[SPDYFrame]:
        """Add received bytes and return the complete frames.

        Raises:
            SpdyError: the bytes are not valid SPDY.
        """
        self._rest += piece
        found = []
        while len(self._rest) >= 8:
            first, second = struct.unpack(">II", self._rest[:8])
            flags, size = second >> 24, second & 0xFFFFFF
            if size > MAX_FRAME:
                raise SpdyError(f"a frame of {size} bytes: at most {MAX_FRAME} are taken")
            if len(self._rest) < 8 + size:
                break
            body = bytes(self._rest[8 : 8 + size])
            del self._rest[: 8 + size]
            if not first >> 31:
                found.append(SPDYFrame(0, first, body, last=bool(flags & FIN)))
            else:
                if first >> 16 & 0x7FFF != VERSION:
                    raise SpdyError(f"version {first >> 16 & 0x7FFF}: 3 is spoken here")
                found.append(self._control(first & 0xFFFF, flags, body))
        return found

    def _control(self, kind: int, flags: int, body: bytes) -> SPDYFrame:
        least = {SYN_STREAM: 10, SYN_REPLY: 4, RST_STREAM: 4, PING: 4, GOAWAY: 4, HEADERS: 4, WINDOW_UPDATE: 4}
        if len(body) < least.get(kind, 0):
            raise SpdyError(f"a control frame of type {kind} with {len(body)} bytes")
        number = struct.unpack(">I", body[:4])[0] & 0x7FFFFFFF if kind in least else 0
        if kind == PING:
            number = struct.unpack(">I", body[:4])[0]
        block = {SYN_STREAM: 10, SYN_REPLY: 4, HEADERS: 4}.get(kind)
        headers = self._headers(body[block:]) if block is not None else {}
        return SPDYFrame(kind, number, headers=headers, last=bool(flags & FIN))

    def _headers(self, block: bytes) -> dict[str, str]:
        try:
            # The limit applies to the decompressed size: a small block can expand to any size.
            plain = self._inflate.decompress(block, MAX_HEADERS)
            if self._inflate.unconsumed_tail:
                raise SpdyError(f"a header block of more than {MAX_HEADERS} bytes")
            (count,) = struct.unpack_from(">I", plain)
            found, at = {}, 4
            for _ in range(min(count, 1000)):
                texts = []
                for _ in range(2):
                    (size,) = struct.unpack_from(">I", plain, at)
                    texts.append(plain[at + 4 : at + 4 + size].decode("utf-8", "replace"))
                    at += 4 + size
                found[texts[0].lower()] = texts[1]
        except (zlib.error, struct.error) as error:
            raise SpdyError(f"a header block cannot be read: {error}") from None
        return found

    # What is sent.

    def reply(self, stream: int) -> bytes:
        """Return the frame that accepts a stream, without headers."""
        # All header blocks share one zlib stream; the flush makes each block decompressible at once.
        block = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control_frame(SYN_REPLY, struct.pack(">I", stream) + block)

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        return struct.pack(">II", stream, (FIN if last else 0) << 24 | len(data)) + data

    def pong(self, number: int) -> bytes:
        """Return the frame that answers a ping."""
        return _control_frame(PING, struct.pack(">I", number))

    def goaway(self, last: int) -> bytes:
        """Return the frame that rejects all streams after the last one."""
        return _control_frame(GOAWAY, struct.pack(">II", last, 0))

    def reset(self, stream: int, status: int = 2) -> bytes:
        """Return the frame that rejects a stream (status 2) or cancels it (5)."""
        return _control_frame(RST_STREAM, struct.pack(">II", stream, status))


def _control_frame(kind: int, body: bytes) -> bytes:
    return struct.pack(">HHI", 0x8000 | VERSION, kind, len(body)) + body


def port_of(text: str) -> int:
    """Return the port in a stream's header; 0 if it is not a port."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 5 else 0
    return number if number < 1 << 16 else 0
