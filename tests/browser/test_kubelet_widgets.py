"""The widgets of the kubelet's side in a real page: driven by keyboard and mouse, checked by what the page shows."""

import re

import pytest

CLUSTER = """
from kitlib.cluster import Cluster
POD = '''
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {kitlib.dev/workload.app: "cpu=2 memory=MEMORY"}}
spec:
  containers:
  - {name: app, image: x, resources: {requests: {cpu: 250m}, limits: {cpu: LIMIT, memory: 400Mi}}}
'''
cluster = Cluster.simulated(1, cpus=4, memory="4Gi")
for name, memory, limit in (("web", "100Mi", "500m"), ("db", "300Mi", "1")):
    cluster.apply(POD.replace("NAME", name).replace("MEMORY", memory).replace("LIMIT", limit))
"""


def widget(page):
    page.wait_for_selector(".kitlib-widget [role=status]")
    return page.locator(".kitlib-widget").first


def sentence(page):
    return page.locator(".kitlib-widget .kitlib-sentence [role=status]").last.inner_text()


def wait_for_sentence(page, part):
    page.wait_for_function(
        "part => [...document.querySelectorAll('.kitlib-sentence')].some(s => s.innerText.includes(part))",
        arg=part,
    )


def type_into(page, box, text):
    box.click()
    box.fill(text)
    page.wait_for_timeout(300)  # a widget's message waits for the answer to its last one; a button's does not


def check_names(page):
    """Everything that can be used has a name for a screen reader, and every picture its sentence."""
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('.kitlib-widget :is(input, select, textarea, button, [role=slider])')]
            .filter(e => e.offsetParent !== null)
            .filter(e => !(e.getAttribute('aria-label') || e.title || e.innerText?.trim() ||
                           (e.id && document.querySelector(`label[for="${e.id}"]`)?.innerText.trim()) ||
                           e.closest('label')?.innerText.trim() || e.closest('[title]')?.title))
            .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    pictures = page.locator(".kitlib-widget .kitlib-plot[role=img], .kitlib-widget canvas.kitlib-canvas")
    for picture in pictures.all():
        assert picture.get_attribute("role") == "img"
        assert len(picture.get_attribute("aria-label") or "") > 10


STEADY = """selector => new Promise((found) => {
  let before = "";
  const look = () => {
    const place = JSON.stringify(document.querySelector(selector)?.getBoundingClientRect() ?? "");
    if (place !== '""' && place === before) found(JSON.parse(place));
    else { before = place; setTimeout(look, 250); }
  };
  look();
})"""
"""Where a mark is, once two looks find it at the same place: a picture is drawn again when it knows its width."""


class TestPodBuilder:
    CODE = "from kitlib.widgets import PodBuilder\nbuilder = PodBuilder()\nbuilder"

    def test_typing_in_the_form_changes_yaml_files_and_class(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_selector("[data-handle='0 cpu limits']")
        assert "QoS class Burstable" in sentence(page)
        type_into(page, box.get_by_label("cpu request", exact=True), "1")
        type_into(page, box.get_by_label("memory request", exact=True), "256Mi")
        wait_for_sentence(page, "QoS class Guaranteed")
        assert "cpu: '1'" in box.locator("textarea").input_value()
        row = box.locator(".kitlib-table tr", has_text="cpu.weight").first
        assert row.locator("td").nth(2).inner_text() == "39"
        check_names(page)

    def test_a_slider_moved_by_keyboard_changes_the_picture(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_selector("[data-handle='0 cpu limits']")
        handle = box.get_by_role("slider", name="cpu request, slider")
        handle.focus()
        handle.press("ArrowRight")
        page.wait_for_selector("[data-handle='0 cpu requests'][aria-valuetext='0.3 CPU']")
        assert box.get_by_label("cpu request", exact=True).input_value() == "300m"

    def test_lids_are_dragged_onto_their_boxes_and_moved_by_keys(self, open_cells):
        page = open_cells(self.CODE)
        page.wait_for_selector("[data-handle='0 cpu limits']")
        for resource in ("cpu", "memory"):
            lid = page.evaluate(STEADY, f"[data-handle='0 {resource} limits'] .kitlib-hit")
            page.mouse.move(lid["x"] + 20, lid["y"] + 14)
            page.mouse.down()
            page.mouse.move(lid["x"] + 20, lid["y"] + 100, steps=4)
            page.mouse.move(lid["x"] + 20, lid["y"] + 400)  # below its box: it stops there
            page.mouse.up()
        wait_for_sentence(page, "QoS class Guaranteed")
        lid = page.locator("[data-handle='0 memory limits']")
        lid.focus()
        lid.press("ArrowUp")
        wait_for_sentence(page, "QoS class Burstable")
        page.wait_for_function("() => document.activeElement.dataset.handle === '0 memory limits'")

    def test_a_problem_stands_beside_its_field_and_goes_away(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        field = box.get_by_label("memory request", exact=True)
        type_into(page, field, "2Gi")
        page.wait_for_selector(".kitlib-field [role=alert]")
        alert = box.locator(".kitlib-field", has=page.locator("[role=alert]")).first
        assert "must be less than or equal to memory limit of 256Mi" in alert.inner_text()
        page.wait_for_function("() => document.querySelector('.kitlib-field input[aria-invalid=true]')")
        assert "Traceback" not in page.content()
        type_into(page, field, "64Mi")
        page.wait_for_function("() => !document.querySelector('.kitlib-field [role=alert]')")

    def test_yaml_that_cannot_be_read_is_explained(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        type_into(page, box.locator("textarea"), "a: [")
        page.wait_for_selector(".kitlib-note [role=alert]")
        assert "not YAML" in box.locator(".kitlib-note [role=alert]").first.inner_text()


class TestOomArena:
    CODE = "from kitlib.widgets import OomArena\narena = OomArena()\narena"

    def test_pods_are_added_until_the_kernel_kills_whom_was_predicted(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_selector(".kitlib-column")
        type_into(page, box.get_by_label("uses", exact=True), "400Mi")
        box.get_by_role("button", name="Add the pod").click()
        page.wait_for_selector(".kitlib-column[title^='besteffort-2/app'][data-state=promised]")
        type_into(page, box.get_by_label("uses", exact=True), "600Mi")
        assert "besteffort" not in sentence(page).replace("With besteffort-2", "")  # the guess comes first
        page.get_by_text("The forecast (guess first)").click()
        page.wait_for_function("() => document.body.innerText.includes('predicted victim: besteffort-2/app')")
        box.get_by_role("button", name="Add the pod").click()
        wait_for_sentence(page, "The kernel killed besteffort-2/app, as predicted")
        page.wait_for_selector(".kitlib-board-token[data-state=dead]")
        page.wait_for_selector(".kitlib-column[title^='besteffort-2/app'][data-state=dead]")
        check_names(page)

    def test_an_amount_that_is_none_is_said_beside_the_field(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        type_into(page, box.get_by_label("uses", exact=True), "plenty")
        page.wait_for_selector(".kitlib-field [role=alert]")
        assert "quantities must match" in box.locator(".kitlib-field [role=alert]").first.inner_text()


class TestCgroupTree:
    CODE = CLUSTER + "from kitlib.widgets import CgroupTreeExplorer\nCgroupTreeExplorer(cluster, controller='cpu')"

    def test_a_value_written_by_hand_flashes_and_is_marked(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_selector(".kit-tree [data-file='cpu.weight']")
        box.get_by_label("cgroup", exact=True).select_option(label="/kubepods/burstable")
        box.get_by_label("file", exact=True).select_option("cpu.weight")
        type_into(page, box.get_by_label("value", exact=True), "500")
        box.get_by_role("button", name="Write").click()
        page.wait_for_selector(".kit-tree details.d[open][data-path='/kubepods/burstable']")
        row = box.locator(".kit-tree details.d")
        assert "≠ 500" in row.inner_text()
        assert row.locator(".kitlib-flash").count() == 1
        wait_for_sentence(page, "1 value differs")
        check_names(page)

    def test_rows_open_by_keyboard_to_their_reasons_and_stay_open_when_values_change(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        summary = box.locator(".kit-tree summary", has_text="besteffort").first
        summary.focus()
        summary.press("Enter")
        page.wait_for_function("() => document.querySelectorAll('.kit-tree details[data-path][open]').length === 1")
        box.get_by_role("button", name="Read again").click()
        page.wait_for_timeout(400)
        assert page.locator(".kit-tree details[data-path][open]").count() == 1

    def test_what_the_kernel_refuses_is_said_beside_the_value(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        box.get_by_label("cgroup", exact=True).select_option(label="web/app")
        box.get_by_label("file", exact=True).select_option("cpu.weight")
        type_into(page, box.get_by_label("value", exact=True), "lots")
        box.get_by_role("button", name="Write").click()
        page.wait_for_selector(".kitlib-field [role=alert]")
        assert "EINVAL" in box.locator(".kitlib-field [role=alert]").inner_text()

    def test_live_reading_shows_a_pod_that_comes(self, open_cells):
        page = open_cells(self.CODE, "cluster.advance(0)")
        box = widget(page)
        box.get_by_role("button", name="Live").click()
        page.wait_for_timeout(1500)
        box.get_by_role("button", name="Live").click()
        assert "the same, file by file" in sentence(page)


class TestCgroupWatch:
    CODE = CLUSTER + "from kitlib.widgets import CgroupWatch\nwatch = CgroupWatch(cluster, start=True)\nwatch"

    def samples(self, page):
        return int(page.locator("canvas.kitlib-canvas").first.get_attribute("data-samples") or 0)

    def test_lines_grow_pause_and_go_on(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_function("() => Number(document.querySelector('canvas.kitlib-canvas')?.dataset.samples) > 15")
        box.get_by_role("button", name="Pause").click()
        page.wait_for_timeout(500)
        stood = self.samples(page)
        page.wait_for_timeout(800)
        assert self.samples(page) == stood
        wait_for_sentence(page, "web/app 100Mi")
        box.get_by_role("button", name="Start").click()
        page.wait_for_function(
            f"() => Number(document.querySelector('canvas.kitlib-canvas').dataset.samples) > {stood + 5}"
        )
        check_names(page)

    def test_the_picture_zooms_and_pauses_by_keyboard(self, open_cells):
        page = open_cells(self.CODE)
        widget(page)
        page.wait_for_function("() => Number(document.querySelector('canvas.kitlib-canvas')?.dataset.samples) > 5")
        canvas = page.locator("canvas.kitlib-canvas").first
        canvas.focus()
        canvas.press(" ")
        page.wait_for_function("() => document.querySelector('canvas.kitlib-canvas').dataset.paused === 'true'")
        canvas.press("+")
        canvas.press("ArrowLeft")
        canvas.press("Home")
        page.wait_for_function("() => document.querySelector('canvas.kitlib-canvas').dataset.paused === 'false'")

    def test_running_the_cell_again_ends_the_stream_of_before(self, open_cells):
        page = open_cells(
            self.CODE.replace("watch = ", "before = globals().get('watch')\nwatch = "),
            "print('running' if before and before._beat.running else 'ended')",
        )
        page.wait_for_function("() => Number(document.querySelector('canvas.kitlib-canvas')?.dataset.samples) > 3")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.wait_for_function(
            "() => [...document.querySelectorAll('.jp-InputArea-prompt')].some(p => /\\[4\\]/.test(p.textContent))"
        )
        assert page.locator(".jp-OutputArea-output pre").last.inner_text().strip() == "ended"


class TestNodeBar:
    CODE = CLUSTER + "from kitlib.widgets import NodeBar\nbar = NodeBar(cluster)\nbar"

    def test_a_reservation_moves_the_bar_and_too_much_of_it_is_explained(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_selector(".kitlib-drawn svg")
        type_into(page, box.get_by_label("cpu kube-reserved", exact=True), "1")
        wait_for_sentence(page, "500 of 3000m allocatable requested (17%)")
        type_into(page, box.get_by_label("memory system-reserved", exact=True), "9Gi")
        page.wait_for_selector(".kitlib-field [role=alert]")
        assert "Expected capacity >= reservation" in box.locator(".kitlib-field [role=alert]").inner_text()
        type_into(page, box.get_by_label("memory system-reserved", exact=True), "1Gi")
        page.wait_for_function("() => !document.querySelector('.kitlib-field [role=alert]')")
        check_names(page)


class TestSharesRace:
    CODE = "from kitlib.widgets import SharesRace\nrace = SharesRace()\nrace"

    def test_a_slider_moves_the_promise_and_the_run_confirms_it(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_selector(".kitlib-drawn svg")
        before = sentence(page)
        handle = box.get_by_role("slider", name="racer-1 request, slider")
        handle.focus()
        for key in ("Home", "ArrowRight", "ArrowRight"):
            handle.press(key)
        # a value that is still on its way would arrive after the button's click
        text = box.get_by_label("racer-1 request", exact=True).element_handle()
        page.wait_for_function("text => text.value === '10m'", arg=text)
        page.wait_for_function(
            "before => !document.querySelector('.kitlib-sentence [role=status]').innerText.includes(before)", arg=before
        )
        box.get_by_role("button", name="Run 5 s").click()
        wait_for_sentence(page, "Measured: racer-1")
        pairs = re.findall(r"([\d.]+) \(predicted ([\d.]+)\)", sentence(page))
        assert len(pairs) == 3 and all(float(got) == pytest.approx(float(said), abs=0.02) for got, said in pairs)
        assert box.locator(".kitlib-drawn text", has_text="measured").count() == 3
        check_names(page)

    def test_a_limit_below_the_request_is_refused_beside_the_field(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        field = box.get_by_label("racer-1 limit", exact=True)
        type_into(page, field, "1m")
        field.press("Enter")
        page.wait_for_selector(".kitlib-field [role=alert]")
        assert "must be less than or equal to cpu limit" in box.locator(".kitlib-field [role=alert]").inner_text()


class TestEvictionGauge:
    CODE = "from kitlib.widgets import EvictionGauge\ngauge = EvictionGauge()\ngauge"

    def test_pods_are_added_until_the_kubelet_evicts(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_selector(".kitlib-board-mark")
        for number in range(1, 5):
            box.get_by_role("button", name="Add the pod").click()
            page.wait_for_function("name => document.body.innerText.includes(name)", arg=f"pod-{number}")
        wait_for_sentence(page, "Thresholds met: memory.available")
        box.get_by_role("button", name="Wait 10 s").click()
        wait_for_sentence(page, "Evicted so far: pod-1")
        wait_for_sentence(page, "No eviction threshold is met")
        check_names(page)


class TestTimeline:
    CODE = CLUSTER + (
        "from kitlib.widgets import Timeline\nline = Timeline(cluster)\n"
        "cluster.apply(POD.replace('NAME', 'hog').replace('MEMORY', '600Mi').replace('LIMIT', '1'))\nline"
    )

    def test_time_passes_and_all_sources_speak(self, open_cells):
        lanes = "() => document.querySelector('.kitlib-drawn svg')?.textContent ?? ''"
        killed = f"() => ({lanes})().includes('killed app')"
        page = open_cells(self.CODE)
        box = widget(page)
        box.get_by_role("button", name="+10 s").click()
        page.wait_for_function(killed)
        box.get_by_label("only", exact=True).fill("killed")
        page.wait_for_function(f"() => !({lanes})().includes('scheduler')")
        page.wait_for_function("() => document.querySelector('.kitlib-table').textContent.includes('Killed process')")
        box.get_by_label("only", exact=True).fill("")
        page.wait_for_function(
            f"() => ['API', 'scheduler', 'kubelet', 'kernel'].every(one => ({lanes})().includes(one))"
        )
        page.locator("[data-walk]").first.focus()
        page.keyboard.press("End")
        page.wait_for_function("() => document.querySelector('.kitlib-drawn [role=status]').innerText.includes(' s, ')")
        assert page.locator("[data-walk][tabindex='0']").count() == 1
        check_names(page)


class TestSideBySide:
    CODE = "from kitlib.widgets import SideBySide\nboth = SideBySide()\nboth"

    def test_what_differs_follows_the_typing(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        wait_for_sentence(page, "4 of 10 values differ")
        type_into(page, box.get_by_label("cpu request", exact=True).last, "250m")
        wait_for_sentence(page, "web is Burstable, db is Burstable")
        page.wait_for_function("() => document.querySelectorAll('.kitlib-cells tbody tr').length < 5")
        box.get_by_label("only what differs").uncheck()
        page.wait_for_function("() => document.querySelectorAll('.kitlib-cells tbody tr').length === 10")
        check_names(page)


class TestCpuMap:
    CODE = "from kitlib.widgets import CpuMap\ncpus = CpuMap()\ncpus"

    def test_whole_cpus_are_given_away_and_come_back(self, open_cells):
        page = open_cells(self.CODE)
        box = widget(page)
        page.wait_for_selector(".kitlib-board-token")
        type_into(page, box.get_by_label("CPUs", exact=True), "4")
        box.get_by_role("button", name="Add the pod").click()
        wait_for_sentence(page, "pod-1/app: 4")
        type_into(page, box.get_by_label("CPUs", exact=True), "2")
        box.get_by_role("button", name="Add the pod").click()
        wait_for_sentence(page, "pod-2/app: 2")
        box.get_by_role("button", name="Remove it").click()
        page.wait_for_function("() => !document.querySelector('.kitlib-sentence').innerText.includes('pod-1/app')")
        type_into(page, box.get_by_label("CPUs", exact=True), "99")
        box.get_by_role("button", name="Add the pod").click()
        page.wait_for_selector(".kitlib-field [role=alert]")
        check_names(page)


def test_a_widget_shown_twice_shows_the_same_in_both_places(open_cells):
    page = open_cells(TestPodBuilder.CODE, "builder")
    twice = "marks => document.querySelectorAll(marks).length === 2"
    page.wait_for_function(twice, arg="[data-handle='0 cpu requests']")
    type_into(page, page.locator(".kitlib-widget").last.get_by_label("cpu request", exact=True), "300m")
    page.wait_for_function(twice, arg="[data-handle='0 cpu requests'][aria-valuetext='0.3 CPU']")
