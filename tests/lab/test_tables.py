"""Tables stand left and ids are short."""

from kitlib.lab.tables import short, table


def test_rows_mappings_and_frames_become_tables():
    import pandas as pd

    rows = [{"a": 1, "b": None}, {"a": 0.25, "b": True}]
    assert str(table(rows)) == "a     b\n1\n0.25  yes"
    assert (
        str(table({"x": 1, "y": (2, 3)}, "name", "first", "second")) == "name  first  second\nx     1\ny     2      3"
    )
    assert str(table({"x": {"q": 1}}, "name")) == "name  q\nx     1"
    assert str(table(pd.DataFrame(rows))).splitlines()[2] == "0.25  yes"
    assert "text-align:left" in table(rows)._repr_html_() and "&lt;" in table({"<": 1})._repr_html_()


def test_a_container_id_has_twelve_digits():
    assert short("cri-" + "ab12" * 16) == "cri-ab12ab12ab12…"
    assert short("de4983ac-ff0c-40be-8472-8b6674593aa3") == "de4983ac-ff0c-40be-8472-8b6674593aa3"
