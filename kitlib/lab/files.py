"""Atomic writes: a file is replaced as a whole or stays as it was, also on a full disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `target` on success and is removed on an error."""
    unfinished = target.with_name(f"{target.name}.part")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def write_whole(target: Path, text: str | bytes) -> None:
    """Write a text as UTF-8 with its line ends as they are, or bytes."""
    with replacing(target) as unfinished:
        unfinished.write_bytes(text.encode() if isinstance(text, str) else text)


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file's content."""
    with replacing(target) as unfinished:
        shutil.copyfile(source, unfinished)
