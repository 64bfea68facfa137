"""A Python kernel behind lines of JSON: messages for it come in on standard input, what it says goes out.

As in VS Code no Jupyter server is between; the kernel ends with the input.
"""

import base64
import json
import sys
import threading
from queue import Empty

from jupyter_client import KernelManager

_out = threading.Lock()


def _say(channel: str, message: dict) -> None:
    buffers = [base64.b64encode(buffer).decode() for buffer in message.get("buffers") or []]
    said = {name: message[name] for name in ("header", "parent_header", "metadata", "content")}
    line = json.dumps({"channel": channel, "buffers": buffers, **said}, default=str)
    with _out:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def _listen(client, channel: str) -> None:
    hear = getattr(client, f"get_{channel}_msg")
    while True:
        try:
            _say(channel, hear(timeout=1))
        except Empty:
            continue


def main() -> None:
    manager = KernelManager()
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    for channel in ("iopub", "shell", "control"):
        threading.Thread(target=_listen, args=(client, channel), daemon=True).start()
    try:
        for line in sys.stdin:
            message = json.loads(line)
            buffers = [base64.b64decode(buffer) for buffer in message.pop("buffers", [])]
            channel = getattr(client, f"{message.pop('channel')}_channel")
            client.session.send(channel.socket, message, buffers=buffers)
    finally:
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
