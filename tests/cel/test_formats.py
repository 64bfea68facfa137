"""Named formats, texts made of verbs, quoted texts."""

from __future__ import annotations

import pytest

from kitlib.cel.formats import FORMATS
from tests.cel.answers import answer

GOOD = {
    **dict.fromkeys(("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue"), "a-1"),
    **dict.fromkeys(("dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix"), "a-"),
    "uri": "https://a.b",
    "uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "byte": "YWI=",
    "date": "2020-02-29",
    "datetime": "2020-02-29T01:02:03Z",
}


def test_every_format_takes_what_has_it_and_says_what_is_wrong() -> None:
    assert GOOD.keys() == FORMATS.keys()
    for name, text in GOOD.items():
        assert answer(f"format.{name}().validate('{text}') == optional.none()") is True, name
        wrong = answer(f"format.named('{name}').value().validate('_ _').value()")
        assert wrong == list(FORMATS[name].check("_ _")) != []
    assert answer("format.dns1123Label().validate('a-').value()[0]").startswith("a lowercase RFC 1123 label must")
    assert answer("format.named('none').hasValue()") is False
    assert "undeclared reference to 'other'" in answer("format.other()")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("'%s is %d%%'.format(['a', 3])", "a is 3%"),
        ("'%.2f %f %e'.format([1.005, 2, 12345.678])", "1.00 2.000000 1.234568e+04"),
        ("'%x %X %o %b %b'.format([255, 'hi', 8, 5, true])", "ff 6869 10 101 1"),
        ("'%s'.format([[1, 'a', {'k': 2.5, 'b': null}]])", '[1, "a", {"b": null, "k": 2.5}]'),
        ("'%s %s %s'.format([true, duration('90s'), timestamp(0)])", "true 90s 1970-01-01T00:00:00Z"),
        ("'%s %s'.format([b'ab', type(1)])", "ab int"),
        ("'none'.format([])", "none"),
        (
            "'%d'.format(['a'])",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        (
            "'%f'.format(['a'])",
            "error during formatting: fixed-point clause can only be used on doubles, was given string",
        ),
        ("'%d %d'.format([1])", "index 1 out of range"),
        ("'%y'.format([1])", 'could not parse formatting clause: unrecognized formatting clause "y"'),
        ("'%'.format([1])", "unexpected end of string"),
        ("'%.999999999f'.format([1.0])", "a precision of 9999 digits: at most 100 are written"),
        ("strings.quote('a\"b\\n')", '"a\\"b\\n"'),
    ],
)
def test_values_are_written_by_verbs(text: str, made: str) -> None:
    assert answer(text) == made
