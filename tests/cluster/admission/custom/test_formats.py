"""Texts that have a format, and texts that have not."""

from __future__ import annotations

import pytest

from kitlib.cluster.admission.custom.formats import has_format

UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2020-02-29"], ["2021-02-29", "20200229", ""]),
        ("date-time", ["2020-02-29T23:59:59Z", "2020-02-29t01:02:03.5+01:00"], ["2020-02-29", "2020-02-29T24:00:00Z"]),
        ("byte", ["", "YWI="], ["YWI", "a b="]),
        ("uri", ["https://a.b", "/x"], ["a.b", ""]),
        ("ipv4", ["1.2.3.4"], ["1.2.3", "::1"]),
        ("ipv6", ["::1"], ["1.2.3.4", "fe80::1%eth0"]),
        ("cidr", ["10.0.0.0/8", "::/0"], ["10.0.0.0", "10.0.0.0/33"]),
        ("mac", ["01:23:45:67:89:AB", "0123.4567.89ab"], ["01:23:45:67:89", "x"]),
        ("uuid", [UUID, UUID.replace("-", "")], ["x", UUID + "0"]),
        ("uuid3", [UUID.replace("11d1", "31d1")], [UUID]),
        ("uuid4", [UUID.replace("11d1", "41d1")], [UUID.replace("11d1-8", "41d1-7")]),
        ("uuid5", [UUID.replace("11d1", "51d1")], [UUID]),
        ("of my own", ["", "x"], []),
    ],
)
def test_a_text_has_a_format_or_not(name: str, good: list[str], bad: list[str]) -> None:
    assert [has_format(text, name) for text in good] == [True] * len(good)
    assert [has_format(text, name) for text in bad] == [False] * len(bad)
