"""Objects that a `with` block closes."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closeable:
    """An object that is closed at the end of a `with` block, such as a cluster or a watch of files."""

    def close(self) -> None:
        """End the object's work and release its resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
