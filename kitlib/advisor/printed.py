"""Parses output of kubectl around or instead of objects: warnings before the JSON, tables, a truncated end.

load(printed(source))
described(text)         # the events in a description of a pod
"""

from __future__ import annotations

import re

from kitlib.api.errors import ManifestError
from kitlib.api.serialize import Source, read_source

AS_JSON = "add -o json to the kubectl command; a single event's text goes to kitlib explain --message TEXT"
HEAD = 4096
"""Number of characters in which warnings, a table's header or a description are recognized."""
_NOISE = re.compile(r"(?:Warning|Error from server|[Ee]rror|[WEI]\d{4})\b.*")
_TABLE = re.compile(r"(?:NAMESPACE +)?NAME +[A-Z][A-Z()\- ]+")
_DESCRIBED = re.compile(r"Name: {2,}\S")
_EVENT = re.compile(
    r"^ +(Normal|Warning) +(\w+) +(?:<?[\w.]+>?(?: \(x\d+ over \w+\))?) +(?:from )?([\w.-]+) +(.*)$", re.M
)


def printed(source: Source) -> Source:
    """Return the objects in the output of kubectl, without the warnings before and after them.

    Raises:
        ManifestError: the text is a table, a description or an error; the message names the option for objects.
    """
    text, name = read_source(source, 4 * HEAD)
    noisy = head_of(text)
    head = _without_noise(noisy)
    if _TABLE.match(head):
        raise ManifestError(f"this is a table of kubectl get: {AS_JSON}", file=name)
    if _DESCRIBED.match(head):
        raise ManifestError(f"this is the text of kubectl describe: {AS_JSON}", file=name)
    if not _NOISE.match(noisy):
        if not hasattr(source, "read"):
            return source  # a path is passed on, so that messages name the file
        return f"{text}\n" if isinstance(text, str) else text  # with a line break: text is not taken for a path
    if name and not hasattr(source, "read"):
        text, name = read_source(source)
    lines = (text if isinstance(text, str) else text.decode("utf-8", "replace")).splitlines(keepends=True)
    first = next(
        (i for i, line in enumerate(lines) if line.lstrip()[:1] in ("{", "[") or line.startswith("apiVersion:")), -1
    )
    if first < 0:
        noise = next((line.strip() for line in lines if line.strip()), "")
        raise ManifestError(f"kubectl printed no objects: {noise}", file=name)
    rest = lines[first:]
    while rest and _NOISE.match(rest[-1]):
        rest.pop()
    return "".join(rest) + "\n"


def head_of(text: str | bytes) -> str:
    """Return the beginning of a text without leading blanks."""
    start = text[:HEAD]
    decoded = start if isinstance(start, str) else start.decode("utf-8", "replace")
    return decoded.lstrip("\ufeff \r\n\t")


def _without_noise(head: str) -> str:
    """Return the beginning of a text from the first line that is no warning or error."""
    lines = head.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if line.strip() and not _NOISE.match(line)), len(lines))
    return "".join(lines[first:])


def is_description(text: str | bytes) -> bool:
    """Return whether a text is the output of kubectl describe."""
    return bool(_DESCRIBED.match(_without_noise(head_of(text))))


def check_end(source: Source) -> None:
    """Check that JSON which could not be read is complete.

    Raises:
        ManifestError: the text starts as JSON and ends before its last bracket.
    """
    if hasattr(source, "read"):
        return  # it has been read
    text, name = read_source(source)
    plain = text if isinstance(text, str) else text.decode("utf-8", "replace")
    if _without_noise(plain[:HEAD].lstrip("\ufeff \r\n\t"))[:1] not in ("{", "[") or plain.rstrip()[-1:] in ("}", "]"):
        return
    size = len(plain.encode())
    raise ManifestError(f"the JSON is cut off after {size} bytes: run the kubectl command again", file=name)


def described(text: str) -> list[tuple[str, str, str]]:
    """Return the events of a description: reason, component, message; wrapped lines are joined."""
    return [(reason, by, message.strip()) for _, reason, by, message in _EVENT.findall(text)]
