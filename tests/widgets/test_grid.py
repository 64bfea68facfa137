"""The table of cells: what it shows, and what it hears from the page."""

from kitlib.widgets._parts.grid import Act, Grid


def filled(**settings):
    heard = []
    grid = Grid("board", on_act=heard.append, **settings)
    grid.fill(["a", "b"], ["x"], [[("1", "one pod", "ok")], [("", "nothing", "no")]])
    return grid, heard


def test_cells_carry_words():
    grid, _ = filled(help="Arrow keys walk", movable=True, letters="xt")
    assert grid.hint(0, 0) == "one pod"
    assert (grid.label, grid.help, grid.movable, grid.letters) == ("board", "Arrow keys walk", True, "xt")


def test_a_message_from_the_page_is_an_act():
    grid, heard = filled()
    grid._on_message(grid, {"act": "move", "row": 0, "column": 0, "to": [1, 0], "key": ""}, [])
    grid._on_message(grid, {"act": "key", "row": 1, "column": 0, "to": None, "key": "x"}, [])
    assert heard == [Act("move", 0, 0, (1, 0), ""), Act("key", 1, 0, None, "x")]


def test_the_focus_follows_what_was_moved():
    grid, _ = filled(movable=True)
    grid._on_message(grid, {"act": "move", "row": 0, "column": 0, "to": [1, 0], "key": ""}, [])
    assert grid.selected == [1, 0]


def test_an_act_outside_the_table_is_not_passed_on():
    grid, heard = filled()
    grid.act("press", 5, 5)
    assert heard == []


def test_the_page_part_comes_with_the_kit():
    grid, _ = filled()
    assert "role" in str(grid._esm) and "prefers" not in str(grid._esm)
    assert "kitlib-grid" in str(grid._css)
