"""What a `with` block closes."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closeable:
    """Closes itself at the end of a `with` block: clusters, watches of files."""

    def close(self) -> None:
        """End it and free what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
