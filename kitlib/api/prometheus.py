"""Counters, gauges and histograms in the Prometheus text format.

Source: prometheus/common expfmt/text_create.go (MetricFamilyToText), client_golang histogram.go; component-base
metrics (the stability level precedes the help text).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import accumulate

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_EXPONENT_FROM = 6
"""The power of ten from which an exponent is written. Source: strconv ftoa.go, format `g` of the shortest digits."""
Labels = tuple[str, ...]


class Family:
    """A counter or a gauge with labels.

    Args:
        name: the name of the metric.
        help_text: the help text with the stability level, `[STABLE] Number of …`.
        labels: the names of the labels, in the order of the values.
        kind: the metric's type, `counter` or `gauge`.
    """

    def __init__(self, name: str, help_text: str, labels: Labels = (), kind: str = "counter") -> None:
        self.name, self.help_text, self.labels, self.kind = name, help_text, labels, kind
        self.values: dict[Labels, float] = {}

    def add(self, values: Labels = (), amount: float = 1) -> None:
        """Add to the sample with these label values."""
        self.values[values] = self.values.get(values, 0) + amount

    def set(self, values: Labels, value: float) -> None:
        """Set the sample with these label values."""
        self.values[values] = value

    def samples(self) -> Iterator[str]:
        """Yield the lines of the samples."""
        for values, value in sorted(self.values.items()):
            yield f"{self.name}{_labels(zip(self.labels, values, strict=True))} {number(value)}"


class Histogram:
    """A histogram: counts of observations per bucket.

    Args:
        name, help_text, labels: the same as those of a `Family`.
        buckets: the upper bounds in rising order, without +Inf.
    """

    kind = "histogram"

    def __init__(self, name: str, help_text: str, buckets: Iterable[float], labels: Labels = ()) -> None:
        self.name, self.help_text, self.labels, self.buckets = name, help_text, labels, tuple(buckets)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, value: float, values: Labels = ()) -> None:
        """Count a value under these label values. A value equal to a bound counts in the bound's bucket."""
        counts = self._counts.get(values)
        if counts is None:
            counts = self._counts[values] = [0] * (len(self.buckets) + 1)
        counts[bisect_left(self.buckets, value)] += 1
        self._sums[values] = self._sums.get(values, 0) + value

    def samples(self) -> Iterator[str]:
        """Yield the lines of the samples: cumulative buckets, sum and count."""
        bounds = [*map(number, self.buckets), "+Inf"]
        for values, counts in sorted(self._counts.items()):
            pairs = list(zip(self.labels, values, strict=True))
            for bound, count in zip(bounds, accumulate(counts), strict=True):
                yield f"{self.name}_bucket{_labels([*pairs, ('le', bound)])} {count}"
            yield f"{self.name}_sum{_labels(pairs)} {number(self._sums[values])}"
            yield f"{self.name}_count{_labels(pairs)} {sum(counts)}"


def exposition(families: Iterable[Family | Histogram]) -> str:
    """Return the text of the families that have samples, sorted by name."""
    lines = []
    for family in sorted(families, key=lambda one: one.name):
        samples = list(family.samples())
        if samples:
            help_text = family.help_text.replace("\\", r"\\").replace("\n", r"\n")
            lines += [f"# HELP {family.name} {help_text}", f"# TYPE {family.name} {family.kind}", *samples]
    return "".join(f"{line}\n" for line in lines)


def exponential_buckets(start: float, factor: float, count: int) -> list[float]:
    """Source: prometheus.ExponentialBuckets."""
    return [start * factor**power for power in range(count)]


def number(value: float) -> str:
    """Return a number as Go writes it (format `g`, shortest). Source: strconv.AppendFloat, expfmt writeFloat."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(value)]
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1
    if value == 0 or -4 <= power < _EXPONENT_FROM:
        return repr(float(value)).removesuffix(".0")
    mantissa = "".join(map(str, digits))
    if len(digits) > 1:
        mantissa = f"{mantissa[:1]}.{mantissa[1:]}"
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    shown = [f'{name}="{_escaped(value)}"' for name, value in pairs]
    return f"{{{','.join(shown)}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
