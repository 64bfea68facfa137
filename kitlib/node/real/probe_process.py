"""A probe of a port in its own process, so that a hanging server blocks nothing.

It imports nothing of the kit: `python3 -I -S probe_process.py SECONDS HOST PORT [SCHEME PATH HEADER: VALUE ...]`.
Without a scheme it only connects. It prints the error or the status code, and exits with 0 if there is an answer.

Source: pkg/probe/http DoHTTPProbe, pkg/probe/tcp DoTCPProbe.
"""

import socket
import sys

LINE = 4096
"""Maximum bytes of a status line."""


def main(seconds: str, host: str, port: str, scheme: str = "", path: str = "/", *headers: str) -> int:
    """Run the probe and print its result; return the exit code."""
    try:
        line = socket.create_connection((host, int(port)), float(seconds))
        if not scheme:
            return 0
        if scheme == "HTTPS":
            import ssl

            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            line = context.wrap_socket(line)
        lines = [f"GET {path} HTTP/1.1", *headers, "Connection: close", "", ""]
        line.sendall("\r\n".join(lines).encode())
        said = line.makefile("rb").readline(LINE).decode(errors="replace").split()
    except TimeoutError:
        print("timeout")
        return 1
    except OSError as error:
        print((error.strerror or str(error)).lower())
        return 1
    if len(said) < 2 or not said[0].startswith("HTTP/") or not said[1].isdigit():
        print("malformed HTTP response")
        return 1
    print(said[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
