"""The panel "Share or export" of a widget: links that open the same scene elsewhere, pictures that are real files."""

from __future__ import annotations

import json
import re
import struct
import xml.etree.ElementTree as ET

import pytest

SCENE = """
from kitlib.widgets import PreemptionStage
stage = PreemptionStage()
for _ in range(3):
    stage.step()
stage.refresh()
stage
"""
STATUS = ".kitlib-widget .kitlib-sentence [role=status]"
SVG = "{http://www.w3.org/2000/svg}"


def opened_panel(page):
    """The panel of the page's first widget, once the kernel has answered."""
    page.locator(".kitlib-share summary").first.click()
    page.wait_for_function("() => document.querySelector('.kitlib-share input[aria-label=Python]')?.value")
    return page.locator(".kitlib-share").first


def downloaded(page, panel, kind, folder):
    """The bytes of what a button downloads."""
    with page.expect_download(timeout=90_000) as waiting:
        panel.get_by_role("button", name=re.compile("Page" if kind == "html" else f"^{kind}$", re.I)).click()
    assert waiting.value.suggested_filename.endswith("." + kind)
    place = folder / waiting.value.suggested_filename
    waiting.value.save_as(place)
    return place.read_bytes()


def test_a_scene_is_a_real_svg_png_gif_webm_and_page(open_cells, artifacts, browser, tmp_path):
    page = open_cells(SCENE)
    page.wait_for_selector(".kitlib-board-token")
    page.emulate_media(reduced_motion="no-preference")
    panel = opened_panel(page)
    wanted = page.locator(".kitlib-board-token b").all_inner_texts()

    root = ET.fromstring(downloaded(page, panel, "svg", artifacts))
    tags = {one.tag.removeprefix(SVG) for one in root.iter()}
    assert tags <= {"svg", "title", "desc", "defs", "pattern", "rect", "line", "text", "g", "circle"}, "for print"
    words = [one.text for one in root.iter(SVG + "text")]
    assert set(wanted) <= set(words) and "Preemption stage" in words
    assert not {"From the start", "▶ Play"} & set(words), "no controls, no player"
    width, height = int(root.get("width")), int(root.get("height"))

    png = downloaded(page, panel, "png", artifacts)
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", png[16:24]) == (2 * width, 2 * height)

    gif = downloaded(page, panel, "gif", artifacts)
    frames = gif.count(b"\x21\xf9\x04")
    shown = page.locator(".kitlib-player input[type=range]").get_attribute("max")
    assert gif[:6] == b"GIF89a" and gif[-1:] == b";" and frames > int(shown) + 1, "scenes, and motion between them"

    webm = downloaded(page, panel, "webm", artifacts)
    assert webm[:4] == b"\x1a\x45\xdf\xa3"
    html = downloaded(page, panel, "html", artifacts).decode()
    offline = browser.new_context(offline=True, viewport={"width": 960, "height": 540}).new_page()
    asked = []
    offline.on("request", lambda request: asked.append(request.url))
    offline.set_content(html)
    assert offline.locator("figure:visible").count() == 1 and offline.locator("figure").count() == int(shown) + 1
    before = offline.locator("figcaption:visible").inner_text()
    offline.keyboard.press("ArrowRight")
    assert offline.locator("figcaption:visible").inner_text() != before
    offline.screenshot(path=str(artifacts / "share-page.png"))
    assert not asked, asked
    offline.context.close()
    plays = page.evaluate(
        """async ([webm, gif]) => {
          const video = document.createElement('video');
          video.muted = true;
          video.src = URL.createObjectURL(new Blob([new Uint8Array(webm)], {type: 'video/webm'}));
          await video.play();
          await new Promise((done) => video.addEventListener('ended', done));
          const decoder = new ImageDecoder({data: new Uint8Array(gif), type: 'image/gif'});
          await decoder.tracks.ready;
          const count = decoder.tracks.selectedTrack.frameCount;
          const last = await decoder.decode({frameIndex: count - 1});
          return [video.videoWidth, video.videoHeight, video.currentTime, count, last.image.displayWidth];
        }""",
        [list(webm), list(gif)],
    )
    assert plays[0] >= width and plays[1] >= height and plays[2] > 2, plays
    assert plays[3] == frames and plays[4] >= width, plays


def test_the_line_of_code_opens_the_same_scene_in_another_profile(open_cells, browser):
    page = open_cells("from kitlib.widgets import SpreadExplorer\nSpreadExplorer('affinity-and-skew', release='1.23')")
    page.wait_for_selector(".kitlib-board-token")
    page.get_by_role("button", name="Place the next pod").click()
    handle = page.get_by_role("slider", name=re.compile("^release")).first
    handle.focus()
    handle.press("ArrowRight")
    page.wait_for_function(f"() => document.querySelector({json.dumps(STATUS)}).innerText.includes('1.24')")
    box = page.locator(".kitlib-board-box header button").first
    box.click()
    panel = opened_panel(page)
    line = panel.get_by_label("Python", exact=True).input_value()
    shell = panel.get_by_label("Command", exact=True).input_value()
    link = panel.get_by_label("End of a link (put it behind the address of a site of the kit)").input_value()
    assert shell == f"kitlib lab '{link}'" and link.startswith("#kitlib=") and link.partition("=")[2] in line
    sentence = page.locator(STATUS).inner_text()
    tokens = page.locator(".kitlib-board-token").count()
    again = open_cells(line)  # a page of its own profile, a kernel of its own
    again.wait_for_selector(".kitlib-board-token")
    assert again.context != page.context
    assert again.locator(STATUS).inner_text() == sentence
    assert again.locator(".kitlib-board-token").count() == tokens


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_picture_for_print_is_light_whatever_the_theme(open_cells, artifacts, dark):
    page = open_cells("from kitlib.widgets import OomArena\nOomArena()", dark=dark)
    page.wait_for_selector(".kitlib-board-token")
    panel = opened_panel(page)
    panel.get_by_label("light colours, for print").check()
    root = ET.fromstring(downloaded(page, panel, "svg", artifacts))
    assert root.find(SVG + "rect").get("fill") == "#ffffff"
    inks = {one.get("fill") for one in root.iter(SVG + "text")}
    assert inks and all(sum(int(ink[i : i + 2], 16) for i in (1, 3, 5)) < 480 for ink in inks), inks
    theme = page.evaluate("() => document.body.dataset.jpThemeLight")
    assert theme == str(not dark).lower(), "the page keeps its theme"
