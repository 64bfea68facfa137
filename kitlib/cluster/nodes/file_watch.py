"""Cgroup files of a real node, sampled many times per second."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kitlib.cluster.closeable import Closeable
from kitlib.node.real.link import Conversation

if TYPE_CHECKING:
    import pandas as pd

KEPT = 100_000
"""The maximum number of samples kept."""


class Sample(NamedTuple):
    """The seconds of the node's clock, and the content of each file; None for a missing file."""

    at: float
    values: tuple[str | None, ...]


class FileWatch(Closeable):
    """Samples of files from now on; call `close`, or use it in a `with` block.

    Args:
        link: the connection to the node.
        files: the files, each as (path of the cgroup, name).
        hz: the number of samples per second.
    """

    def __init__(self, link: Conversation, files: Sequence[tuple[str, str]], hz: float) -> None:
        self.files, self.hz, self._link = [(path, file) for path, file in files], hz, link
        self._samples: deque[Sample] = deque(maxlen=KEPT)
        self._number = link.watch(self.files, hz, self._on_sample)

    def _on_sample(self, at: float, values: Sequence[str | None]) -> None:
        self._samples.append(Sample(at, tuple(values)))

    @property
    def samples(self) -> list[Sample]:
        """The samples received so far, oldest first."""
        return list(self._samples)

    def frame(self) -> pd.DataFrame:
        """Return the samples as a pandas DataFrame: seconds as index, one column per file, integers converted."""
        import pandas

        samples = self.samples
        columns = [f"{path}/{file}" for path, file in self.files]
        rows = [[_number(value) for value in sample.values] for sample in samples]
        index = pandas.Index([sample.at for sample in samples], name="seconds")
        return pandas.DataFrame(rows, columns=columns, index=index)

    def close(self) -> None:
        """Stop sampling."""
        self._link.unwatch(self._number)


def _number(text: str | None) -> int | str | None:
    if text is None:
        return None
    return int(text) if text.strip().lstrip("-").isdigit() else text
