"""The reference pages: links that are right where the pages are copied to, tables and code as HTML."""

from __future__ import annotations

import re

from kitlib.lab import launch
from kitlib.lab.pages import pages, rendered, title_of


def test_every_page_has_a_title_and_is_one_of_the_readmes():
    assert {"course", "commands", "limits", "real-nodes"} <= pages().keys()
    assert all(title_of(text) for text in pages().values())


def test_in_a_learners_folder_every_relative_link_leads_to_a_file(tmp_path):
    launch.make_course_folder(tmp_path)
    for name in pages():
        text = (tmp_path / "docs" / f"{name}.md").read_text()
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (tmp_path / "docs" / target).exists(), (name, target)


def test_a_page_that_was_changed_in_the_folder_is_brought_up_to_date(tmp_path):
    launch.make_course_folder(tmp_path)
    (tmp_path / "docs" / "limits.md").write_text("old")
    launch.make_course_folder(tmp_path)
    assert (tmp_path / "docs" / "limits.md").read_text() == pages()["limits"]


def test_rendered_tables_are_tables_and_notebooks_open_in_the_site():
    made = rendered(pages()["course"])
    assert made.count("<table>") == 4
    assert 'href="../lab/index.html?path=notebooks/05-who-dies-first.ipynb"' in made
    assert "<script" not in made
