"""Selectors in CEL: what the language says about a device, and what is refused with which words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitlib.api.devices import Device
from kitlib.api.serialize import from_dict
from kitlib.cel.device_selectors import CompileError, EvaluationError, compile_selector, subject

DEVICE = from_dict(
    {
        "name": "gpu-0",
        "attributes": {
            "model": {"string": "A100"},
            "index": {"int": 3},
            "healthy": {"bool": True},
            "driverVersion": {"version": "550.54.15"},
            "other.example.com/rack": {"string": "r1"},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    },
    Device,
)
DRIVER = "gpu.example.com"


def selects(text: str) -> bool:
    return compile_selector(text)(subject(DEVICE, DRIVER))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "A100" && '
            'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
            True,
        ),
        ('device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))', False),
        ('device.attributes["gpu.example.com"].index in [1, 2, 3]', True),
        ('type(device.attributes["gpu.example.com"].model) == string', True),
        ('type(device.attributes["gpu.example.com"].index) == string', False),
        ("type(1) != type(1.0)", True),
        ('device.attributes["other.example.com"].rack == "r1"', True),  # a name with a domain of its own
        ('"other.example.com" in device.attributes', True),
        ('"nobody.example.com" in device.attributes', False),
        ('has(device.attributes["nobody.example.com"].x)', False),  # a domain that is not there is empty
        ('has(device.attributes["gpu.example.com"].model)', True),
        ('device.attributes["gpu.example.com"].?speed.orValue(7) == 7', True),
        ('device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("550.54.15-rc.1"))', True),
        ('device.attributes["gpu.example.com"].driverVersion.compareTo(semver("550.54.15+build")) == 0', True),
        ("isSemver('v1.0', true) && !isSemver('v1.0') && !isSemver('1.0', false)", True),
        ("semver('v1.02', true).compareTo(semver('1.2.0')) == 0", True),
        ('cel.bind(gpu, device.attributes["gpu.example.com"], gpu.healthy && gpu.index % 2 == 1)', True),
        ('["A", "H"].exists(x, device.attributes["gpu.example.com"].model.startsWith(x))', True),
        ('["A", "H"].all(x, device.attributes["gpu.example.com"].model.startsWith(x))', False),
        ("[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]", True),
        ("1 + 2 * 3 == 7 && -7 / 2 == -3 && -7 % 2 == -1", True),  # towards zero, as in Go
        ('device.driver.matches("^gpu[.]") && size(device.driver) == 15', True),
        ('device.attributes["gpu.example.com"].model == 3', False),  # different types are never equal
        ("2 < 2.5 && 3.0 >= 3", True),
        (r"""'a\tb' != r'a\tb' && "\u0041" == 'A'""", True),
        ("device.allowMultipleAllocations == false ? true : false", True),
        (
            "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a,b'.split(',', 0) == [] && 'a,b'.split(',', -1).size() == 2",
            True,
        ),
        (
            "'abc'.split('', 2) == ['a', 'bc'] && 'abc'.split('', 9) == 'abc'.split('') && 'b'.split(',', 1) == ['b']",
            True,
        ),
        ("'aaa'.replace('a', 'b', 2) == 'bba' && 'aaa'.replace('a', 'b', 0) == 'aaa'", True),
        ("'tacocat'.indexOf('a', 2) == 5 && 'tacocat'.indexOf('a', 9) == -1 && 'abc'.indexOf('', 2) == 2", True),
        ("'tacocat'.lastIndexOf('a', 4) == 1 && 'tacocat'.lastIndexOf('at', 5) == 5", True),
        ("'tacocat'.lastIndexOf('a', 7) == -1", True),  # an offset beyond the text finds nothing
    ],
)
def test_what_an_expression_says_about_a_device(text: str, answer: bool) -> None:
    assert selects(text) is answer


@pytest.mark.parametrize("missing", ['device.attributes["x.example.com"].y', 'device.attributes["gpu.example.com"].y'])
def test_the_side_that_decides_wins_over_an_error_on_the_other(missing: str) -> None:
    assert not selects(f"false && {missing}")
    assert not selects(f"{missing} && false")
    assert selects(f"{missing} || true")
    for text in (missing, f"true && {missing}", f"{missing} || false"):
        with pytest.raises(EvaluationError, match="no such key: y"):
            selects(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("devise.driver == 'x'", "<input>:1:1: undeclared reference to 'devise'"),
        ("device.vendor == 'x'", "<input>:1:7: undefined field 'vendor'"),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ("device.driver == 1", "no matching overload for '_==_' applied to '(string, int)'"),
        (
            'device.capacity["a"].b >= quantity("1Gi")',
            "'_>=_' applied to '(kubernetes.Quantity, kubernetes.Quantity)'",
        ),
        ('device.capacity["a"].b.compareTo("1Gi") > 0', "'compareTo' applied to 'kubernetes.Quantity.(string)'"),
        ("device.attributes.model == 'A100'", "applied to '(map(string, any), string)'"),
        ("device.driver ==", "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!',"),
        ("device.driver = 'x'", "token recognition error at: '='"),
        ("timestamp('2026-01-01T00:00:00Z') == timestamp('x')", "<input>:1:48: invalid timestamp argument"),
        ("device.driver == 'a' &&\n  nobody", "<input>:2:3: undeclared reference to 'nobody'"),
    ],
)
def test_what_is_no_question_about_a_device_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(CompileError) as refused:
        compile_selector(text)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('quantity("many").sign() == 1', "quantities must match"),
        ('semver("1.2").major() == 1', "No Major.Minor.Patch elements found"),
        (
            'device.attributes["gpu.example.com"].model',
            "CEL result of type string could not be converted to bool: unsupported native conversion from string to "
            "'bool'",
        ),
        ('device.attributes["gpu.example.com"].model > 3', "no such overload"),
        ("1 / 0 == 1", "division by zero"),
        ("[1][2] == 1", "index out of bounds: 2"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ("-9223372036854775807 - 2 < 0", "integer overflow"),
        ("4294967296 * 4294967296 > 0", "integer overflow"),
        ("(-9223372036854775807 - 1) / -1 > 0", "integer overflow"),
        ("'abc'.indexOf('b', -1) == 1", "index out of range: -1"),
        ("'abc'.lastIndexOf('b', -1) == 1", "index out of range: -1"),
    ],
)
def test_what_goes_wrong_only_with_a_device_is_said_then(text: str, words: str) -> None:
    asked = compile_selector(text)
    with pytest.raises(EvaluationError, match=words):
        asked(subject(DEVICE, DRIVER))


numbers = st.integers(-50, 50)


@given(numbers, numbers, numbers)
def test_arithmetic_and_order_are_those_of_whole_numbers(a: int, b: int, c: int) -> None:
    assert selects(f"({a}) + ({b}) * ({c}) == {a + b * c} && (({a}) < ({b})) == {str(a < b).lower()}")
    if c:
        whole = abs(a) // abs(c) * (1 if (a < 0) == (c < 0) else -1)
        assert selects(f"({a}) / ({c}) == {whole} && ({a}) / ({c}) * ({c}) + ({a}) % ({c}) == {a}")


versions = st.tuples(numbers.map(abs), numbers.map(abs), numbers.map(abs), st.sampled_from(["", "-a", "-1", "-a.1"]))


@given(versions, versions)
def test_versions_are_ordered_one_way_or_the_other(one: tuple, other: tuple) -> None:
    left, right = (f'semver("{v[0]}.{v[1]}.{v[2]}{v[3]}")' for v in (one, other))
    assert selects(f"{left}.compareTo({right}) == -{right}.compareTo({left})")
    if one[:3] != other[:3]:
        assert selects(f"{left}.isLessThan({right}) == {str(one[:3] < other[:3]).lower()}")


def test_nobody_without_selectors_loads_the_language() -> None:
    code = (
        "import sys; from kitlib.apiserver.validation import validate_pod_create;"
        "from kitlib.api.serialize import from_dict;"
        "validate_pod_create(from_dict({'apiVersion': 'v1', 'kind': 'Pod'}));"
        "print('kitlib.cel.device_selectors' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def doubled(first: str, step: str, last: str, letter: str = "a") -> str:
    """`first` put into `step`, the result into `step` again, 26 times, and at the end into `last`; each for X."""
    binds = [f"cel.bind({letter}0, {first}, "]
    binds += [f"cel.bind({letter}{n}, {step.replace('X', f'{letter}{n - 1}')}, " for n in range(1, 27)]
    return "".join(binds) + last.replace("X", f"{letter}26") + ")" * len(binds)


@pytest.mark.parametrize(
    "text",
    [
        doubled("'xxxxxxxx'", "X + X", "size(X) > 0"),
        doubled("[1, 2]", "X + X", "size(X) > 0"),
        doubled("'xx'", "X.replace('x', 'xx')", "size(X) > 0"),
        doubled("'xx'", "[X, X].join(',')", "size(X) > 0"),
        doubled("[1]", "[X, X]", doubled("[1]", "[X, X]", "a26 == X", "b")),
        doubled("{'k': 1}", "{'k': X, 'l': X}", doubled("{'k': 1}", "{'k': X, 'l': X}", "a26 in [X]", "b")),
        doubled("[1]", "[X, X]", doubled("[1]", "[X, X]", "[a26].indexOf(X) == 0", "b")),
    ],
)
def test_what_doubles_again_and_again_ends_at_the_limit_of_cost(text: str) -> None:
    with pytest.raises(EvaluationError, match="operation cancelled: actual cost limit exceeded"):
        selects(text)
