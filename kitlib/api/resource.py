"""Quantities: `500m`, `128Mi`, `1e3`: exact numbers down to one billionth, with the notation they were written in.

A quantity keeps its format and, until something is computed with it, its text. Kubernetes stores small numbers as a
64-bit integer with a power of ten, and all others as an arbitrary-precision decimal. The two differ in how they round
negative numbers and in how they overflow 64 bits; this module reproduces both.

Source: k8s.io/apimachinery/pkg/api/resource (quantity.go, amount.go, suffix.go, math.go).
"""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import Literal

from kitlib.api.errors import KitError

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

NANO = 10**9
MAX_INT64 = 2**63 - 1
_MAX_FAST_DIGITS = 18
_ONE_MULTIPLICATION = frozenset((0, 1, 2, 3, 6, 9))
_ABSURD_EXPONENT = 3_000
"""The largest power of ten that is read; larger ones are replaced by it, since both exceed every range in use."""
_MAX_DIGITS = 1_000
"""The maximum number of digits, with which Python can print a number even with the largest power of ten."""

_SYNTAX = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)")

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG = "unable to parse quantity's suffix"
NUMERIC_WRONG = "unable to parse numeric part of quantity"


class QuantityError(KitError, ValueError):
    """A text that is not a quantity; Kubernetes' message. Source: resource.ErrFormatWrong, ErrSuffix, ErrNumeric."""


@total_ordering
class Quantity:
    """An immutable exact number with a notation, compared and hashed by value: `Quantity("1") == Quantity("1000m")`.

    Args:
        text: the text, `500m`, `1.5Gi`, `1e3`, or a plain number.

    Raises:
        QuantityError: the text is not a quantity.

    Source: resource.ParseQuantity.
    """

    __slots__ = ("_decimal", "_nano", "_power", "_text", "format")

    format: Format
    _nano: int
    _power: int  # upstream: an integer times 10**_power, of 64 bits or (_decimal) of any size
    _decimal: bool
    _text: str

    def __new__(cls, text: str | int | float | Quantity) -> Quantity:
        if isinstance(text, Quantity):
            return text
        return _parse(text if isinstance(text, str) else _number_text(text))

    @classmethod
    def _of(cls, nano: int, format_: Format, power: int = 0, decimal: bool = False, text: str = "") -> Quantity:
        made = object.__new__(cls)
        set_ = object.__setattr__
        set_(made, "_nano", nano)
        set_(made, "format", format_)
        set_(made, "_power", power)
        set_(made, "_decimal", decimal)
        set_(made, "_text", text)
        return made

    @classmethod
    def parse(cls, text: str | int | float) -> Quantity:
        """Parse a quantity; raises QuantityError."""
        return cls(text)

    @classmethod
    def from_int(cls, value: int, format_: Format = "DecimalSI") -> Quantity:
        """Return a quantity of whole units. Source: resource.NewQuantity."""
        return cls._of(value * NANO, format_, 0)

    @classmethod
    def from_milli(cls, value: int, format_: Format = "DecimalSI") -> Quantity:
        """Return a quantity of thousandths. Source: resource.NewMilliQuantity."""
        return cls._of(value * 10**6, format_, -3)

    def value(self) -> int:
        """Return the number of whole units (bytes, CPUs, pieces), rounded up. Source: Quantity.Value."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """Return the number of thousandths (milli-CPU), rounded up. Source: Quantity.MilliValue."""
        return self.scaled_value(-3)

    def scaled_value(self, exponent: int) -> int:
        """Return the number in units of 10**exponent, rounded up; it overflows as in Kubernetes.

        A 64-bit amount is rounded away from zero, and an overflow leaves 0 (its low 64 bits, where the power of ten is
        one that is multiplied in one step). A decimal is cut to its low 64 bits, before the division if it is negative.

        Source: Quantity.ScaledValue, resource.scaledValue, negativeScaleInt64.
        """
        nano, shift = self._nano, exponent + 9
        units: int
        if nano < 0 and self._decimal:
            return self._negative_decimal(exponent)
        if shift <= 0:
            units = nano * 10**-shift
        else:
            units = -(-nano // 10**shift) if nano >= 0 else nano // 10**shift
        if _in_64_bits(units):
            return units
        # scaledValue returns the low 64 bits of a decimal. The path for 64-bit amounts returns 0 on overflow, except
        # for powers of ten that it multiplies in one unchecked step.
        kept = self._decimal or self._power - exponent in _ONE_MULTIPLICATION
        return _low_64_bits(units) if kept else 0

    def _negative_decimal(self, exponent: int) -> int:
        fewer = exponent - self._power
        unscaled = _units(self._nano, self._power)
        if fewer <= 0:
            scaled: int = unscaled * 10**-fewer
            return _low_64_bits(scaled)
        amount = _low_64_bits(unscaled)
        divisor: int = 10**fewer
        quotient = abs(amount) // divisor * (1 if amount >= 0 else -1)
        return quotient + 1 if abs(amount) % divisor else quotient

    @property
    def is_milli(self) -> bool:
        """Whether the number is in thousandths and fits into 64 bits. Source: structured safeMilliValue."""
        return self._nano % 10**6 == 0 and _in_64_bits(self._nano // 10**6)

    @property
    def nano(self) -> int:
        """The exact number in billionths."""
        return self._nano

    def sign(self) -> int:
        """Return the sign: -1, 0 or 1. Source: Quantity.Sign."""
        return (self._nano > 0) - (self._nano < 0)

    def is_zero(self) -> bool:
        """Return whether the number is 0. Source: Quantity.IsZero."""
        return self._nano == 0

    def __int__(self) -> int:
        return self.value()

    def __float__(self) -> float:
        return self._nano / NANO

    def __bool__(self) -> bool:
        return self._nano != 0

    def __add__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._sum(other, other._nano)

    def __sub__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._sum(other, -other._nano)

    def _sum(self, other: Quantity, change: int) -> Quantity:
        # A zero takes the format of the other operand, so that 0 + 1Gi prints as 1Gi. Source: Quantity.Add, Sub.
        format_ = self.format if self._nano else other.format
        nano = self._nano + change
        if not (self._decimal or other._decimal):
            if change == 0:
                return Quantity._of(nano, format_, self._power)
            if self._nano == 0:
                return Quantity._of(nano, format_, other._power)
            power = min(self._power, other._power)
            # int64Amount.Add works at the smaller of the two scales and falls back to the decimal form on overflow. The
            # form matters: the two round negative numbers and overflow differently.
            if all(_in_64_bits(_units(part, power)) for part in (self._nano, change, nano)):
                return Quantity._of(nano, format_, power)
        return Quantity._of(nano, format_, min(self._power, other._power), decimal=True)

    def __neg__(self) -> Quantity:
        return Quantity._of(-self._nano, self.format, self._power, self._decimal)

    def __eq__(self, other: object) -> bool:
        return self._nano == other._nano if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self._nano < other._nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._nano)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Quantity cannot be changed")

    def __reduce__(self) -> tuple[object, ...]:
        return Quantity._of, (self._nano, self.format, self._power, self._decimal, self._text)

    def __copy__(self) -> Quantity:
        return self

    def __deepcopy__(self, _memo: object) -> Quantity:
        return self

    def __str__(self) -> str:
        if not self._text:
            object.__setattr__(self, "_text", self._canonical())
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def go_syntax(self) -> str:
        """Return the struct as Go prints it with `%v` in some messages: `{{8589934592 0} {<nil>}  BinarySI}`.

        Go prints a decimal as a pointer, which differs between runs; this method prints its number instead.
        """
        if self._decimal:
            return f"{{{{0 0}} {{{self._canonical()}}}  {self.format}}}"
        return f"{{{{{_units(self._nano, self._power)} {self._power}}} {{<nil>}}  {self.format}}}"

    def _canonical(self) -> str:
        """Return the notation with the largest suffix that needs no fraction. Source: Quantity.CanonicalizeBytes."""
        nano = self._nano
        if nano == 0:
            return "0"
        if self.format == "BinarySI" and abs(nano) >= 1024 * NANO and nano % NANO == 0:
            units, power = nano // NANO, 0
            while units % 1024 == 0:
                units, power = units // 1024, power + 10
            return f"{units}{_BINARY_SUFFIX.get(power, '')}"
        mantissa, exponent = nano, -9
        while mantissa % 1000 == 0:
            mantissa, exponent = mantissa // 1000, exponent + 3
        if self.format == "DecimalExponent":
            return f"{mantissa}e{exponent}" if exponent else str(mantissa)
        return f"{mantissa}{_DECIMAL_SUFFIX.get(exponent, '')}"


def _number_text(number: int | float) -> str:
    if isinstance(number, bool):
        raise QuantityError(FORMAT_WRONG)
    return repr(number)


@lru_cache(maxsize=65_536)
def _parse(text: str) -> Quantity:
    if text == "":
        raise QuantityError(FORMAT_WRONG)
    # Python converts at most 4300 digits between int and str. These digits and the largest power of ten have 4000.
    if len(text) > _MAX_DIGITS:
        raise QuantityError(NUMERIC_WRONG)
    found = _SYNTAX.fullmatch(text) if text.isascii() else None
    if found is None:
        raise QuantityError(FORMAT_WRONG)
    sign, zeros, whole, fraction, suffix = found.groups()
    fraction = fraction or ""
    base, exponent, format_ = _interpret(suffix)
    digits = (whole or "0") + fraction

    if base == 10:
        fast = len(digits) <= _MAX_FAST_DIGITS and exponent - len(fraction) >= -9
        units = int(digits)
    else:
        units = int(digits) << exponent
        # upstream: 2**exponent has about exponent * 3 / 10 decimal digits; 15 digits always fit into 64 bits
        fast = not fraction and 14 - len(digits) - int(exponent * 3 / 10) >= 0 and units <= MAX_INT64
    signed = -1 if sign == "-" else 1
    if fast:
        power = min((exponent if base == 10 else 0) - len(fraction), _ABSURD_EXPONENT - 9)
        nano = signed * units * 10 ** min(power + 9, _ABSURD_EXPONENT)
        as_written = text if _is_canonical(format_, exponent, power, digits) else ""
        return Quantity._of(nano, format_, power, text=as_written)

    if not (zeros or whole or fraction):
        raise QuantityError(NUMERIC_WRONG)
    # Non-zero values round up to one billionth: a request for too little gets something. Source: ParseQuantity.
    amount = _rounded_up(units, (exponent if base == 10 else 0) - len(fraction) + 9)
    power = -9
    if format_ == "BinarySI":
        if amount > MAX_INT64 * NANO:
            amount, power = MAX_INT64 * NANO, 0  # upstream caps binary numbers only
        elif 0 < amount < NANO:
            format_ = "DecimalSI"  # a fraction of one byte has no binary notation
    return Quantity._of(signed * amount, format_, power, decimal=True)


def _is_canonical(format_: Format, exponent: int, power: int, digits: str) -> bool:
    """Return whether ParseQuantity keeps the text as the number's notation without further checks."""
    if format_ == "BinarySI":
        return exponent % 10 == 0 and int(digits) & 7 != 0
    return power % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _units(nano: int, power: int) -> int:
    """Return the amount in units of 10**power; exact, because the amount is a multiple of the unit."""
    units: int = nano * 10 ** -(power + 9) if power < -9 else nano // 10 ** (power + 9)
    return units


def _in_64_bits(number: int) -> bool:
    return -MAX_INT64 - 1 <= number <= MAX_INT64


def _low_64_bits(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _rounded_up(units: int, power: int) -> int:
    """Return units × 10**power, rounded up to a whole number; extreme powers need no large computation."""
    if units == 0:
        return 0
    if power >= 0:
        scale: int = 10 ** min(power, _ABSURD_EXPONENT)
        return units * scale
    if -power > len(str(units)) + 1:
        return 1
    divisor: int = 10**-power
    return -(-units // divisor)


def _interpret(suffix: str) -> tuple[int, int, Format]:
    """Return base, exponent and format of a suffix. Source: resource.suffixHandler.interpret."""
    power = _DECIMAL.get(suffix)
    if power is not None:
        return 10, power, "DecimalSI"
    power = _BINARY.get(suffix)
    if power is not None:
        return 2, power, "BinarySI"
    found = _EXPONENT.fullmatch(suffix)
    if found is None:
        raise QuantityError(SUFFIX_WRONG)
    exponent = int(found[1])
    if not -(2**63) <= exponent < 2**63:
        raise QuantityError(SUFFIX_WRONG)
    # Go parses 64 bits and converts to int32, which wraps around.
    return 10, (exponent + 2**31) % 2**32 - 2**31, "DecimalExponent"
