"""A sweep on a Dask cluster: chunks of points as tasks, a few for each thread of the cluster at a time.

Work and results are JSON in bytes. A task is kitlib's own function with the work as data, so workers need this version
of kitlib; a scenario that is defined in a notebook's cell is pickled by Dask (cloudpickle). Dask replaces a lost
worker; a task that Dask gives up is retried point by point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from kitlib import __version__
from kitlib.api.convert import decoder
from kitlib.api.errors import KitError
from kitlib.study.sweeps.chunks import Chunk, Chunks, Numbered
from kitlib.study.sweeps.row import SweepRow
from kitlib.study.sweeps.task import Task, task_of

if TYPE_CHECKING:
    from distributed import Client, Future

CHUNK_S, POLL_S = 0.2, 0.2
CONNECT_S = 10
PER_THREAD = 2
"""Submitted tasks for each thread: one that is computed, and one that waits so that the thread is never idle."""


class ChunkResult(msgspec.Struct, frozen=True):
    """The result of a task.

    Attributes:
        kitlib: version of kitlib on the worker.
        rows: rows of the chunk's points.
    """

    kitlib: str
    rows: list[SweepRow]


def compute(work: bytes | Task, points: bytes) -> bytes:
    """Compute the rows of a chunk; this is the task that Dask workers run.

    Args:
        work: the scenario and metrics, encoded or as a task.
        points: JSON list of the chunk's points.
    """
    task = task_of(work) if isinstance(work, bytes) else work
    rows = [task.evaluate(point) for point in decoder(list[dict[str, Any]]).decode(points)]
    return msgspec.json.encode(ChunkResult(__version__, rows))


def connected(client: Any) -> tuple[Client, bool]:
    """Return a Dask client, and whether this call created it.

    Args:
        client: a client, or the address of a Dask scheduler.

    Raises:
        KitError: distributed is not installed, the scheduler does not answer, or the client is asynchronous or closed.
    """
    try:
        from distributed import Client
    except ImportError:
        raise KitError("client=: requires Dask: pip install 'kitlib[dask]'") from None
    made = isinstance(client, str)
    if isinstance(client, str):
        try:
            client = Client(client, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise KitError(f"client={client!r}: no Dask scheduler answers there: {error}") from None
    if not isinstance(client, Client):
        raise KitError(f"client=: must be a distributed.Client or an address, got {type(client).__name__}")
    if client.asynchronous:
        raise KitError("client=: must be a synchronous Client: create it without asynchronous=True")
    if client.status != "running":
        raise KitError(f"client=: must be a running Client, but its status is {client.status}")
    return client, made


def rows(task: Task, points: Sequence[Numbered], client: Client) -> Iterator[list[tuple[int, SweepRow]]]:
    """Yield rows as they arrive, and an empty list from time to time.

    The empty lists let the caller check for cancellation.

    Raises:
        KitError: the cluster is gone, or its workers have another version of kitlib.
    """
    from distributed import wait

    work: Any = msgspec.json.encode(task.work) if task.work is not None else task
    chunks, under_way = Chunks(points, _threads(client), CHUNK_S), dict[Any, Chunk]()
    try:
        while True:
            while len(under_way) < PER_THREAD * _threads(client) and (chunk := chunks.take()) is not None:
                encoded = msgspec.json.encode([point for _, point in chunk.points])
                under_way[client.submit(compute, work, encoded, pure=False)] = chunk
            if not under_way:
                return
            try:
                ended = wait(list(under_way), timeout=POLL_S, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                ended = set()
            yield [row for future in ended for row in _collected(future, under_way.pop(future), chunks)]
            if client.status not in ("running", "connecting"):
                raise KitError(f"the connection to the Dask cluster was lost: the client's status is {client.status}")
    finally:
        if under_way and client.status == "running":
            client.cancel(list(under_way), force=True)


def _collected(future: Future, chunk: Chunk, chunks: Chunks) -> list[tuple[int, SweepRow]]:
    if future.status != "finished":
        error = future.exception() if future.status == "error" else None
        how = (
            f"WorkerEnded: {type(error).__name__}"
            if error is not None
            else f"WorkerEnded: its task was {future.status}"
        )
        if isinstance(error, ImportError | KitError):
            raise KitError(f"a Dask worker cannot compute this: {type(error).__name__}: {error}")
        return chunks.failed(chunk, how)
    answer = decoder(ChunkResult).decode(future.result())
    if answer.kitlib != __version__:
        raise KitError(
            f"a Dask worker has kitlib {answer.kitlib}, but this process has kitlib {__version__}: install the same "
            "version everywhere"
        )
    chunks.done(chunk, sum(row.seconds for row in answer.rows))
    return chunk.rows(answer.rows)


def _threads(client: Client) -> int:
    return max(1, sum(client.nthreads().values()))
