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
