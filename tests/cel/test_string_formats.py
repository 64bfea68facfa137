"""Texts that have a format, and texts that have not."""

from __future__ import annotations

import pytest

from kitlib.cel.string_formats import has_format

UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2020-02-29", "0000-02-29"], ["2021-02-29", "20200229", ""]),
        (
            "date-time",
            ["2020-02-29T23:59:59Z", "2020-02-29t01:02:03.5+01:00"],
            [
                "2020-02-29",
                "2020-02-29T24:00:00Z",
                "2020-02-29T22:60:00Z",
                "2020-02-29T22:00:60Z",
                "2021-02-29T00:00:00Z",
            ],
        ),
        ("datetime", ["2020-02-29T23:59:59Z"], ["2020-02-29"]),
        ("duration", ["1h30m", "22 ns", "3 weeks", "1 Day 2 hours", "-1.5s"], ["", "1", "1 fortnight", f"{2**63} s"]),
        ("byte", ["YWI=", "YWJj"], ["", "YWI", "a b=", "YWI=YWI="]),
        ("password", ["", "x"], []),
        ("uri", ["https://a.b", "/x"], ["a.b", ""]),
        (
            "email",
            ["a@b", "A <a.b@c.d>", '"a b"@c', "Ä@ö.de", "a@[1.2.3.4]", "a@[IPv6:::1] (of c)", '"A, B" <a@b>'],
            ["", "a", "a@", "@b", "a@b@c", ".a@b", "a..b@c", "a@b.", "a b@c", '""@c', "a@[x]", "<a@b", "a@b, c@d"],
        ),
        (
            "hostname",
            ["a", "x-y", "a.bc", "1.2.com", "xn--bcher-kva.de", "ex=ample.org", "<x>", "☁.ws", "ôlà.ôlà", "a" * 63],
            [
                "",
                "a.b",
                "1.1.1.1",
                "a_b.org",
                "-a.org",
                "a-.org",
                "a.-b.org",
                "a b",
                "a" * 64,
                "a.1b",
                ".".join("a" * 130),
            ],
        ),
        ("ipv4", ["1.2.3.4", "1.2.3.04", "::ffff:1.2.3.4"], ["1.2.3", "::1"]),
        ("ipv6", ["::1", "::ffff:1.2.3.4"], ["1.2.3.4", "fe80::1%eth0"]),
        ("cidr", ["10.0.0.0/8", "::/0", "10.0.0.1/08"], ["10.0.0.0", "10.0.0.0/33", "1.2.3/8"]),
        (
            "mac",
            ["01:23:45:67:89:AB", "0123.4567.89ab", "01-23-45-67-89-ab-cd-ef", ":".join(["00"] * 20)],
            ["01:23:45:67:89", "01:23-45:67:89:ab", "x", "0123.4567", "01:23:45:67:89:ag"],
        ),
        ("uuid", [UUID, UUID.replace("-", ""), UUID.upper()], ["x", UUID + "0"]),
        ("uuid3", [UUID.replace("11d1", "31d1")], [UUID]),
        ("uuid4", [UUID.replace("11d1", "41d1")], [UUID.replace("11d1-8", "41d1-7")]),
        ("uuid5", [UUID.replace("11d1", "51d1")], [UUID]),
        ("isbn", ["0321751043", "978-0321751041"], ["836217463", "978-0321751042"]),
        ("isbn10", ["0-8044-2957-X"], ["0321751044", "978-0321751041"]),
        ("isbn13", ["978 0321751041"], ["0321751043"]),
        ("creditcard", ["4111-1111-1111-1111", "4012 8888 8888 1881"], ["4111-1111-1111-1112", "9999-9999-9999-999"]),
        ("ssn", ["111-11-1111", "999 99 9999"], ["999 99 999"]),
        ("hexcolor", ["#FFFFFF", "abc"], ["#fffffffz", "#ffff", ""]),
        ("rgbcolor", ["rgb(255,255,255)", "rgb( 0, 10 ,200)"], ["rgb(300,0,0)", "rgb(01,0,0)", "0,0,0"]),
        ("bsonobjectid", ["507f1f77bcf86cd799439011"], ["507f1f77bcf86cd79943901", "x" * 24]),
        ("k8s-short-name", ["a-b", "0"], ["A", "a.b", "a" * 64]),
        ("k8s-long-name", ["a.b", "a" * 100], ["a..b", "A"]),
        ("of my own", ["", "x"], []),
    ],
)
def test_a_text_has_a_format_or_not(name: str, good: list[str], bad: list[str]) -> None:
    assert [has_format(text, name) for text in good] == [True] * len(good)
    assert [has_format(text, name) for text in bad] == [False] * len(bad)


@pytest.mark.parametrize("name", ["email", "hostname", "duration", "rgbcolor", "creditcard"])
@pytest.mark.parametrize(
    "text", ["a" * 50_000, "a." * 25_000, " 1 a" * 12_500, '"' * 50_000, "(" * 50_000, "1" * 50_000]
)
def test_a_hostile_text_is_judged_at_once(name: str, text: str) -> None:
    assert not has_format(text, name)
