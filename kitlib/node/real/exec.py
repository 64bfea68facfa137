"""Commands in a running container by `crun exec`, which leaves the process to the agent.

Source: OCI runtime-spec config.md, process; crun(1) exec.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from kitlib.api.errors import KitError
from kitlib.node.real.container_streams import ContainerPipes, Started
from kitlib.node.real.state_files import STATE, read


class Crun(Protocol):
    """A function that runs crun to its end and returns its exit code."""

    def __call__(self, *words: str, streams: ContainerPipes | None = None) -> int: ...


def start_exec(crun: Crun, identity: str, command: Sequence[str], number: int, *, stdin: bool, tty: bool) -> Started:
    """Start a command with the user, the rights and the environment of a container's own process.

    Args:
        crun: function that runs crun.
        identity: id of the container.
        command: the command's arguments.
        number: number that no other command of this node has.
        stdin: whether it has a standard input.
        tty: whether it has a terminal.

    Raises:
        KitError: crun failed; the message is crun's.
    """
    place = f"{STATE}/exec-{number}"
    with open(f"{STATE}/bundles/{identity}/config.json", "rb") as file:
        process = msgspec.json.decode(file.read())["process"]
    with open(f"{place}.json", "wb") as file:
        file.write(msgspec.json.encode({**process, "args": list(command), "terminal": tty}))
    streams = ContainerPipes(f"{place}.console", tty=tty, stdin=stdin, errors=True)
    words = [f"--log={place}.log", "exec", "--detach", f"--pid-file={place}.pid", f"--process={place}.json"]
    try:
        code = crun(*words, *streams.options, identity, streams=streams)
        if code != 0:
            raise KitError((read(f"{place}.log") or f"crun ended with {code}")[-500:])
        output, inputs, terminal = streams.keep()
        return Started(int(read(f"{place}.pid")), output, streams.errors, terminal if tty else inputs)
    except (OSError, ValueError) as error:
        raise KitError(f"error executing command in container: {error}") from error
    finally:
        streams.close()
        for ending in ("json", "log", "pid"):
            with suppress(OSError):
                os.unlink(f"{place}.{ending}")
