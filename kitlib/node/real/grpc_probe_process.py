"""A gRPC probe of a port in its own process: one call of `grpc.health.v1.Health/Check`.

It imports nothing of the kit: `python3 -I -S grpc_probe_process.py SECONDS HOST PORT AUTHORITY AGENT [SERVICE]`. It
prints one line, and exits with 0 if the server answers:

    status NUMBER           status of the service; 1 is SERVING
    error NUMBER TEXT       gRPC status code and message
    connect                 no connection, or no HTTP/2 on it, in time
    timeout                 connected, but no answer in time

Source: pkg/probe/grpc/grpc.go; RFC 9113 (HTTP/2), RFC 7541 (HPACK); gRPC over HTTP2 (PROTOCOL-HTTP2.md), health.proto.
"""

import contextlib
import socket
import sys
import time
from collections.abc import Iterator
from urllib.parse import unquote

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM = ACK = 0x1
END_HEADERS, PADDED, PRIORITY = 0x4, 0x8, 0x20
PATH = "/grpc.health.v1.Health/Check"
CANCELLED, UNKNOWN, PERMISSION_DENIED, RESOURCE_EXHAUSTED = 1, 2, 7, 8
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, UNAUTHENTICATED = 12, 13, 14, 16
STREAM_ERRORS = {7: UNAVAILABLE, 8: CANCELLED, 11: RESOURCE_EXHAUSTED, 12: PERMISSION_DENIED}
"""gRPC status by HTTP/2 error code of a stream; all others are Internal. Source: http2ErrConvTab."""
HTTP_STATUSES = {
    "400": INTERNAL,
    "401": UNAUTHENTICATED,
    "403": PERMISSION_DENIED,
    "404": UNIMPLEMENTED,
    **dict.fromkeys(("429", "502", "503", "504"), UNAVAILABLE),
}
"""gRPC status by HTTP status. Source: HTTPStatusConvTab."""
LARGEST = 1 << 20
"""Maximum bytes of a frame."""
_STATUSES = ("200", "204", "206", "304", "400", "404", "500")
_CONTENT_TYPE = 31
_LENGTHS = (
    "ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJB"
    "KABABABBBACCBBBABCBAABCCCCCKGJIXPRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRS"
    "VVPORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ"
)
"""Length in bits of each symbol's canonical Huffman code, as a letter: A = 5. Source: RFC 7541, appendix B."""


class CallEnded(Exception):
    """The end of the call without an answer; its text is the line to print."""


class ProbeConnection:
    """A connection with a deadline for all reads and writes."""

    def __init__(self, peer: socket.socket, deadline: float) -> None:
        self.peer, self.deadline, self._read = peer, deadline, b""

    def send(self, kind: int, flags: int, stream: int, payload: bytes = b"") -> None:
        """Write a frame."""
        head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
        self._wait()
        self.peer.sendall(head + payload)

    def frames(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield kind, flags and payload of received frames."""
        while True:
            head = self._take(9)
            size = int.from_bytes(head[:3], "big")
            if size > LARGEST:
                raise OSError("frame too large")
            yield head[3], head[4], self._take(size)

    def _take(self, count: int) -> bytes:
        while len(self._read) < count:
            self._wait()
            piece = self.peer.recv(65536)
            if not piece:
                raise ConnectionError("EOF")
            self._read += piece
        taken, self._read = self._read[:count], self._read[count:]
        return taken

    def _wait(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.peer.settimeout(left)


def connect(host: str, port: int, deadline: float) -> ProbeConnection:
    """Connect and exchange settings, with retries until the deadline. Source: grpc.WithBlock."""
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            line = ProbeConnection(socket.create_connection((host, port), deadline - time.monotonic()), deadline)
            line.peer.sendall(PREFACE)
            # HEADER_TABLE_SIZE 0: `decoded` has no dynamic table; ENABLE_PUSH 0
            line.send(SETTINGS, 0, 0, b"\x00\x01\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00")  # no table, no pushes
            if next(line.frames())[0] == SETTINGS:
                line.send(SETTINGS, ACK, 0)
                return line
            line.peer.close()
        time.sleep(max(0.0, min(0.1, deadline - time.monotonic())))
    raise CallEnded("connect")


def ask(line: ProbeConnection, authority: str, agent: str, service: str) -> str:
    """Call Check and return the line to print."""
    name = service.encode()
    body = b"\x0a" + _varint(len(name)) + name if name else b""
    left = max(1, int((line.deadline - time.monotonic()) * 1000))
    block = b"\x83\x86" + _named(4, PATH) + _named(1, authority) + _named(_CONTENT_TYPE, "application/grpc")
    block += _named(58, agent) + _new("te", "trailers") + _new("grpc-timeout", f"{left}m")
    line.send(HEADERS, END_HEADERS, 1, block)
    line.send(DATA, END_STREAM, 1, b"\x00" + len(body).to_bytes(4, "big") + body)
    headers: dict[str, str] = {}
    answer = pending = b""
    ends = False
    for kind, flags, payload in line.frames():
        if kind == SETTINGS and not flags & ACK:
            line.send(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            line.send(PING, ACK, 0, payload)
        elif kind == GOAWAY:
            raise CallEnded(f"error {UNAVAILABLE} closing transport due to: connection error")
        elif kind == RST_STREAM:
            code = int.from_bytes(payload, "big")
            text = f"stream terminated by RST_STREAM with error code: {code}"
            raise CallEnded(f"error {STREAM_ERRORS.get(code, INTERNAL)} {text}")
        elif kind == DATA:
            answer += _unpadded(payload, flags)
            ends = bool(flags & END_STREAM)
        elif kind in (HEADERS, CONTINUATION):
            ends = ends or bool(kind == HEADERS and flags & END_STREAM)
            pending += _unpadded(payload, flags) if kind == HEADERS else payload
            if not flags & END_HEADERS:
                continue
            headers.update(decoded(pending))
            pending = b""
            _check_response(headers)
        if ends:
            break
    code = int(headers.get("grpc-status", UNKNOWN))
    if code:
        return f"error {code} {unquote(headers.get('grpc-message', ''))}"
    return f"status {status_of(answer[5:])}"


def _check_response(headers: dict[str, str]) -> None:
    """Raise an error for a server that does not speak gRPC. Source: http2Client.operateHeaders."""
    content, status = headers.get("content-type"), headers.get(":status", "")
    wrong = []
    if status != "200":
        wrong.append(f"unexpected HTTP status code received from server: {status}")
    if content is None:
        wrong.append("malformed header: missing HTTP content-type")
    elif not content.startswith("application/grpc"):
        wrong.append(f'transport: received unexpected content-type "{content}"')
    if wrong and not ("grpc-status" in headers and status == "200"):
        raise CallEnded(f"error {HTTP_STATUSES.get(status, UNKNOWN)} {'; '.join(wrong)}")


def status_of(message: bytes) -> int:
    """Return field 1 of a HealthCheckResponse; 0 if it is not set."""
    return _integer(message, 1, 7)[0] if message[:1] == b"\x08" else 0


def _unpadded(payload: bytes, flags: int) -> bytes:
    if flags & PADDED:
        payload = payload[1 : len(payload) - payload[0]]
    return payload[5:] if flags & PRIORITY else payload


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number % 128 + 128)
        number //= 128
    return bytes([*made, number])


def _prefixed(number: int, bits: int) -> bytes:
    """Encode an integer that starts in the last bits of a byte. Source: RFC 7541, section 5.1."""
    most = 2**bits - 1
    return bytes([number]) if number < most else bytes([most]) + _varint(number - most)


def _text(text: str) -> bytes:
    return _prefixed(len(text.encode()), 7) + text.encode()


def _named(index: int, value: str) -> bytes:
    """Encode a header whose name is in the static table."""
    return _prefixed(index, 4) + _text(value)


def _new(name: str, value: str) -> bytes:
    return b"\x00" + _text(name) + _text(value)


def decoded(block: bytes) -> dict[str, str]:
    """Return the headers of a block that matter here. Source: RFC 7541, section 6."""
    found: dict[str, str] = {}
    at = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:  # an indexed field: of the static table's values only those of :status matter
            index, at = _integer(block, at, 7)
            if 8 <= index <= 14:
                found[":status"] = _STATUSES[index - 8]
            continue
        if first & 0xE0 == 0x20:  # an update of the table's size
            at = _integer(block, at, 5)[1]
            continue
        index, at = _integer(block, at, 6 if first & 0x40 else 4)
        if index:
            name = ":status" if 8 <= index <= 14 else "content-type" if index == _CONTENT_TYPE else ""
        else:
            name, at = _string(block, at)
        value, at = _string(block, at)
        found[name] = value
    return found


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return a prefixed integer and the offset after it."""
    most = 2**bits - 1
    number, at, shift = block[at] & most, at + 1, 0
    while number >= most:
        number += (block[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if block[at - 1] < 128:
            break
    return number, at


def _string(block: bytes, at: int) -> tuple[str, int]:
    size, begins = _integer(block, at, 7)
    raw = block[begins : begins + size]
    return (unpacked(raw) if block[at] & 0x80 else raw).decode(errors="replace"), begins + size


def unpacked(raw: bytes) -> bytes:
    """Decode a Huffman-coded text."""
    symbols: dict[tuple[int, int], int] = {}
    code = before = 0
    for length, symbol in sorted((ord(one) - ord("A") + 5, symbol) for symbol, one in enumerate(_LENGTHS)):
        code <<= length - before
        symbols[length, code] = symbol
        code, before = code + 1, length
    made = bytearray()
    length = value = 0
    for byte in raw:
        for bit in range(7, -1, -1):
            length, value = length + 1, value << 1 | byte >> bit & 1
            if (length, value) in symbols:
                made.append(symbols[length, value])
                length = value = 0
    return bytes(made)


def main(seconds: str, host: str, port: str, authority: str, agent: str, service: str = "") -> int:
    """Run the probe and print its result; return the exit code."""
    deadline = time.monotonic() + float(seconds)
    try:
        print(ask(connect(host, int(port), deadline), authority, agent, service))
    except CallEnded as ended:
        print(str(ended))
        return 0 if str(ended).startswith("error") else 1
    except TimeoutError:
        print("timeout")
        return 1
    except (OSError, IndexError, ValueError) as error:
        print(f"error {UNAVAILABLE} error reading from server: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
