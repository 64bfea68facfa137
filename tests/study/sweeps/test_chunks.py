"""Chunks: all points are handed out once, sized by time, and tried again where a worker ended."""

from __future__ import annotations

from kitlib.study.sweeps.chunks import Chunk, Chunks
from kitlib.study.sweeps.row import SweepRow

POINTS = [(i, {"a": i}) for i in range(100)]


def test_every_point_is_handed_out_once_and_chunks_shrink_to_the_end() -> None:
    chunks = Chunks(POINTS, workers=2, seconds=0.1)
    sizes, numbers = [], []
    while (chunk := chunks.take()) is not None:
        sizes.append(len(chunk.points))
        numbers += [number for number, _ in chunk.points]
        chunks.done(chunk, 0.001 * len(chunk.points))
    assert numbers == list(range(100)) and chunks.finished
    assert sizes[0] == 1 and max(sizes) == sizes[1] > 10 and sizes[-1] == 1


def test_slow_points_are_handed_out_one_by_one() -> None:
    chunks = Chunks(POINTS, workers=1, seconds=0.1)
    for _ in range(5):
        chunk = chunks.take()
        assert chunk is not None and len(chunk.points) == 1
        chunks.done(chunk, 0.5)
    assert chunks.seconds_left > 40


def test_a_chunk_whose_worker_ended_comes_again_point_by_point_and_then_is_given_up() -> None:
    chunks = Chunks([], workers=1, seconds=1)
    chunks._out = 1
    assert chunks.failed(Chunk(POINTS[:3]), "ended") == []
    again = [chunk for _ in range(3) if (chunk := chunks.take()) is not None]
    assert [chunk.points for chunk in again] == [[POINTS[0]], [POINTS[1]], [POINTS[2]]]
    chunks.done(again[0], 0.1)
    chunks.done(again[1], 0.1)
    assert chunks.failed(again[2], "ended") == [] and not chunks.finished
    last = chunks.take()
    assert last is not None
    assert chunks.failed(last, "ended") == [(2, SweepRow({"a": 2}, {}, "ended (3 times)"))]
    assert chunks.finished


def test_a_point_that_took_too_long_alone_is_not_tried_again() -> None:
    chunks = Chunks(POINTS[:1], workers=1, seconds=1)
    chunk = chunks.take()
    assert chunk is not None
    assert chunks.failed(chunk, "late", late=True) == [(0, SweepRow({"a": 0}, {}, "late"))]
