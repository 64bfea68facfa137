"""Quantities are exact numbers: what they hold survives being written, added, compared and rounded."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kitlib.api.resource import Quantity, QuantityError

DECIMAL = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)} | {
    suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)
}
BINARY = {f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)}
MAX_INT64 = 2**63 - 1

suffixes = st.sampled_from(sorted({**DECIMAL, **BINARY}.items()))
mantissas = st.tuples(st.integers(0, 10**6), st.integers(0, 999))


def exact(quantity: Quantity) -> Fraction:
    return Fraction(quantity.nano, 10**9)


@st.composite
def quantities(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A quantity's text and its exact value: within the range and the precision that Kubernetes keeps."""
    (whole, thousandths), (suffix, unit) = draw(mantissas), draw(suffixes)
    value = (whole + Fraction(thousandths, 1000)) * unit
    assume(value < 2**62 and (value * 10**9).denominator == 1)
    sign = draw(st.sampled_from(["", "-", "+"]))
    return f"{sign}{whole}.{thousandths:03d}{suffix}", -value if sign == "-" else value


@given(quantities())
def test_a_quantity_holds_exactly_what_was_written(case: tuple[str, Fraction]) -> None:
    text, value = case
    assert exact(Quantity(text)) == value


@given(quantities())
def test_the_canonical_form_is_the_same_number_and_its_own_canonical_form(case: tuple[str, Fraction]) -> None:
    first = Quantity(case[0])
    again = Quantity(str(first))
    assert again == first
    assert str(again) == str(first)


@given(quantities())
def test_whole_numbers_are_rounded_up(case: tuple[str, Fraction]) -> None:
    text, value = case
    assume(0 <= value < 2**53)  # what is negative is rounded away from zero; 64 bits overflow, as in Kubernetes
    assert Quantity(text).value() == -((-value) // 1)
    assert Quantity(text).milli_value() == -((-value * 1000) // 1)


@given(quantities(), quantities())
def test_sums_differences_and_order_are_those_of_the_numbers(
    first: tuple[str, Fraction], second: tuple[str, Fraction]
) -> None:
    (left, a), (right, b) = first, second
    assert exact(Quantity(left) + Quantity(right)) == a + b
    assert exact(Quantity(left) - Quantity(right)) == a - b
    assert (Quantity(left) < Quantity(right)) == (a < b)
    assert (Quantity(left) == Quantity(right)) == (a == b)


@given(quantities(), quantities())
def test_equal_quantities_have_one_hash(first: tuple[str, Fraction], second: tuple[str, Fraction]) -> None:
    left, right = Quantity(first[0]), Quantity(second[0])
    assert left != right or hash(left) == hash(right)


@given(st.integers(-MAX_INT64, MAX_INT64), st.sampled_from(["DecimalSI", "BinarySI", "DecimalExponent"]))
def test_an_integer_is_kept_in_every_format(number: int, form: str) -> None:
    assert Quantity.from_int(number, form).value() == number  # type: ignore[arg-type]
    assert exact(Quantity(str(Quantity.from_int(number, form)))) == number  # type: ignore[arg-type]


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_refused_as_kubernetes_refuses_it(text: str) -> None:
    try:
        Quantity(text)
    except QuantityError as error:
        assert "quantit" in str(error)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1000m", "1"),
        ("1.5Gi", "1536Mi"),
        ("0.1Mi", "104857600m"),
        ("12e6", "12e6"),
        ("1E", "1E"),
        ("-0.5", "-500m"),
        ("100000", "100k"),
        ("0.0000000001", "1n"),
        (".5", "500m"),
        ("0", "0"),
    ],
)
def test_canonical_forms(text: str, shown: str) -> None:
    assert str(Quantity(text)) == shown


@pytest.mark.parametrize("text", ["", "1.5.5", "1 Gi", "1gi", "1Ki1", "--1", "1e", "0x10", "∞", "1_000"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="quantit"):
        Quantity(text)


def test_quantities_do_not_change() -> None:
    one = Quantity("1")
    with pytest.raises((AttributeError, TypeError)):
        one.format = "BinarySI"  # type: ignore[misc]
    assert one + Quantity("1") == Quantity("2")
    assert one == Quantity("1")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e4294967297", 10), ("10e4294967295", 1), ("1e-4294967296", 1), ("10e9223372036854775807", 1), ("1e2", 100)],
)
def test_an_exponent_is_cut_to_32_bits(text: str, value: int) -> None:
    """Source: resource.suffixHandler.interpret, which reads 64 bits and converts to int32."""
    assert Quantity.parse(text).value() == value


@pytest.mark.parametrize("exponent", [2**63, -(2**63) - 1])
def test_an_exponent_of_more_than_64_bits_is_no_suffix(exponent: int) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(f"1e{exponent}")


@pytest.mark.parametrize(
    ("text", "whole", "milli", "nano"),
    [
        ("0", 0, 0, 0),
        ("1", 1, 1000, 10**9),
        ("1n", 1, 1, 1),
        ("1001u", 1, 2, 1_001_000),
        ("999m", 1, 999, 999_000_000),
        ("1001m", 2, 1001, 1_001_000_000),
        ("-1500m", -2, -1500, -1_500_000_000),
        ("-1", -1, -1000, -(10**9)),
        ("-1n", -1, -1, -1),
        ("3Ki", 3072, 3_072_000, 3_072_000_000_000),
        ("0.5Ki", 512, 512_000, 512_000_000_000),
        ("1.0000000000000000000001", 2, 1001, 1_000_000_001),
        ("-1.0000000000000000000001", 0, -999, -1_000_000_001),
        ("-2.0000000000000000000000", -2, -2000, -2_000_000_000),
        ("9223372036854775807", 2**63 - 1, -1000, (2**63 - 1) * 10**9),
        ("9223372036854775808", -(2**63), 0, 2**63 * 10**9),
        ("1E", 10**18, (10**21 + 2**63) % 2**64 - 2**63, 10**27),
        ("10E", 0, 0, 10**28),
        ("10000E", 0, 0, 10**31),
    ],
)
def test_units_are_rounded_up_and_overflow_as_in_kubernetes(text: str, whole: int, milli: int, nano: int) -> None:
    """Source: Quantity.ScaledValue, resource.scaledValue, negativeScaleInt64."""
    found = Quantity(text)
    assert (found.value(), int(found), found.nano) == (whole, whole, nano)
    if "E" not in text and "9223" not in text:
        assert found.milli_value() == milli


@pytest.mark.parametrize(
    ("text", "sign", "zero", "negated"),
    [
        ("0", 0, True, "0"),
        ("-0", 0, True, "0"),
        ("5m", 1, False, "-5m"),
        ("-5Ki", -1, False, "5Ki"),
        ("1n", 1, False, "-1n"),
    ],
)
def test_signs(text: str, sign: int, zero: bool, negated: str) -> None:
    found = Quantity(text)
    assert (found.sign(), found.is_zero(), bool(found), str(-found)) == (sign, zero, not zero, negated)
    assert float(found) == found.nano / 10**9


@pytest.mark.parametrize(
    ("one", "other", "total", "difference"),
    [
        ("1", "1Gi", "1073741825", "-1073741823"),
        ("1Gi", "1Gi", "2Gi", "0"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1Gi", "0", "1Gi", "1Gi"),
        ("0", "0", "0", "0"),
        ("500m", "1", "1500m", "-500m"),
        ("1e3", "1", "1001e0", "999e0"),
        ("1Ki", "25", "1049", "999"),
        ("1Ki", "1m", "1024001m", "1023999m"),
    ],
)
def test_a_sum_has_the_format_of_the_first_number_that_is_not_zero(
    one: str, other: str, total: str, difference: str
) -> None:
    """Source: Quantity.Add, Sub."""
    first, second = Quantity(one), Quantity(other)
    assert (str(first + second), str(first - second)) == (total.removesuffix("e0"), difference.removesuffix("e0"))
    assert (first + second).nano == first.nano + second.nano


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1000Ki", "1000Ki"),
        ("1023", "1023"),
        ("1024", "1024"),
        ("1.5Ki", "1536"),
        ("2048Ki", "2Mi"),
        ("0.5Mi", "512Ki"),
        ("1000e0", "1e3"),
        ("0.001e0", "1e-3"),
        ("1000000", "1M"),
        ("1000k", "1M"),
        ("1500k", "1500k"),
        ("1000000000000000000000Ki", "9223372036854775807"),
        ("0.5", "500m"),
        ("0.0005Ki", "512m"),
    ],
)
def test_more_canonical_forms(text: str, shown: str) -> None:
    """Source: Quantity.CanonicalizeBytes, ParseQuantity (binary numbers are capped at 64 bits)."""
    assert str(Quantity(text)) == shown
    again = Quantity(shown)
    assert again == Quantity(text)
    assert str(again) == shown


@pytest.mark.parametrize(
    ("made", "milli", "syntax"),
    [
        (Quantity.from_int(8, "BinarySI"), True, "{{8 0} {<nil>}  BinarySI}"),
        (Quantity.from_milli(1500), True, "{{1500 -3} {<nil>}  DecimalSI}"),
        (Quantity("1500m"), True, "{{1500 -3} {<nil>}  DecimalSI}"),
        (Quantity("1u"), False, "{{1 -6} {<nil>}  DecimalSI}"),
        (Quantity("2Ki"), True, "{{2048 0} {<nil>}  BinarySI}"),
        (Quantity("1e3"), True, "{{1 3} {<nil>}  DecimalExponent}"),
        (Quantity("9223372036854776k"), False, "{{9223372036854776 3} {<nil>}  DecimalSI}"),
        (Quantity("9223372036854775"), True, "{{9223372036854775 0} {<nil>}  DecimalSI}"),
        (Quantity("9223372036854776"), False, "{{9223372036854776 0} {<nil>}  DecimalSI}"),
        (Quantity("1234567890123456789"), False, "{{0 0} {1234567890123456789}  DecimalSI}"),
    ],
)
def test_the_struct_as_go_prints_it_and_whether_it_is_a_number_of_thousandths(
    made: Quantity, milli: bool, syntax: str
) -> None:
    assert (made.go_syntax(), made.is_milli) == (syntax, milli)


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0.0000000001", 1),
        ("0.00000000099", 1),
        ("1e-30", 1),
        ("12e-10", 2),
        ("12e-11", 1),
        ("1.0000000001", 10**9 + 1),
        ("-0.0000000001", -1),
        ("0.0000000000", 0),
        ("0e-30", 0),
        ("0.0000000005Ki", 512),
        ("0.00000000001Ki", 11),
    ],
)
def test_what_is_below_one_billionth_is_rounded_away_from_zero(text: str, nano: int) -> None:
    """Source: ParseQuantity, infDecAmount rounded by inf.RoundUp to scale Nano."""
    assert Quantity(text).nano == nano


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0.0001Ki", "102400u"),
        ("0.0009765625Ki", "1"),
        ("0.5Ki", "512"),
        ("1.5Ki", "1536"),
        ("0.0Ki", "0"),
        ("1.5Gi", "1536Mi"),
    ],
)
def test_a_fraction_of_one_byte_has_no_binary_notation(text: str, written: str) -> None:
    assert str(Quantity(text)) == written
