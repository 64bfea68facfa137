"""The command line: `kitlib demo`, `kitlib doctor` and others, each in a file of `kitlib/commands/`.

This module creates only the parsers; a command's library is imported when the command runs, so `kitlib --help` is
fast.

Exit codes: 0 = done, 1 = the answer is "no" (a case failed, something is missing), 2 = wrong usage or bad input,
130 = interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from kitlib import __version__
from kitlib.commands import arguments, last_errors, streams

COMMANDS = (
    "demo",
    "lab",
    "up",
    "doctor",
    "explain",
    "whatif",
    "report",
    "mcp",
    "image",
    "sweep",
    "conformance",
    "bench",
    "bundle",
    "site",
    "workshop",
    "room",
    "lab-report",
    "lab-export",
    "certificate",
    "cheat-sheet",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    made = arguments.Parser(
        prog="kitlib",
        description="Learn how Kubernetes enforces resources and how its scheduler decides.",
        epilog="kitlib COMMAND --help says more about a command.",
    )
    made.add_argument("--version", action="version", version=f"kitlib {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name in COMMANDS:
        importlib.import_module(f"kitlib.commands.{name.replace('-', '_')}").add(commands)
    return made


def main(given: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        given: the arguments without the program's name; None = those of the process.

    Returns:
        The exit code.
    """
    try:
        streams.prepare()
        made = parser()
        try:
            options = made.parse_args(given)
        except SystemExit as ended:  # raised for --help, --version or wrong usage, after the output
            return int(ended.code or 0)
        if not hasattr(options, "run"):
            made.print_help()
            return 2
        return _run(options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader (head, less) has closed the pipe
        sys.stderr.close()
        return 0


def _run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError

    try:
        return int(options.run(options) or 0)
    except KitError as error:
        sys.stderr.write(f"kitlib: {arguments.one_line(str(error))}\n")
        return 2
    except (BrokenPipeError, InterruptedError):
        raise
    except OSError as error:  # a file or folder that a command could not use
        if not error.filename:
            last_errors.keep(error, options.command)
            raise
        sys.stderr.write(f"kitlib: {arguments.one_line(str(error.filename))}: {error.strerror or error}\n")
        return 2
    except Exception as error:
        last_errors.keep(error, options.command)
        sys.stderr.write("kitlib: a defect of the kit; kitlib doctor --report prints what a report of it needs\n")
        raise


if __name__ == "__main__":
    sys.exit(main())
