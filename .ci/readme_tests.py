"""The README's test command on any system: on Windows programs of an environment are in another folder.

Run by the workflow on macOS and Windows: `python .ci/readme_tests.py`, arguments go to pytest. Ends with its exit code.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def steps(readme: str, python: str, *, windows: bool) -> list[list[str]]:
    """Return the commands of the README's line for a system.

    Args:
        readme: its text.
        python: path of the interpreter that makes the environment.
        windows: whether programs are in `Scripts`.

    Raises:
        SystemExit: the README does not show the command.
    """
    found = re.search(r"^ *(python3 -m venv .venv && .* && \.venv/bin/pytest.*)$", readme, re.MULTILINE)
    if found is None:
        raise SystemExit("README.md does not show the test command")
    commands = [shlex.split(part) for part in found[1].split(" && ")]
    place = ".venv/Scripts/" if windows else ".venv/bin/"
    for command in commands:
        program = command[0]
        if program == "python3":
            command[0] = python
        elif program.endswith("/pip"):  # pip does not replace a program that runs
            command[:1] = [f"{place}python", "-m", "pip"]
        else:
            command[0] = program.replace(".venv/bin/", place)
    return commands


def main(arguments: list[str]) -> int:
    """Run them, the last one with further arguments."""
    commands = steps((ROOT / "README.md").read_text("utf-8"), sys.executable, windows=sys.platform == "win32")
    commands[-1] += arguments
    for command in commands:
        print("$", shlex.join(command), flush=True)
        program = ROOT / command[0] if command[0].startswith(".venv") else command[0]
        code = subprocess.run([program, *command[1:]], cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
