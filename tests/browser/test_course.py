"""A learner's first minutes in a real page: a prediction typed, one picked, and what is said about them afterwards."""

QUESTIONS = """
import os, tempfile
os.environ["KITLIB_PROGRESS"] = tempfile.mkdtemp()
from kitlib.lab import Lesson

lesson = Lesson("browser")
lesson
"""
NUMBER = 'lesson.ask("number", "Which quota is written for the limit of 500m?", unit="µs in every 100 ms")'
CHOICE = 'lesson.ask("choice", "Which class is it?", choices=["Guaranteed", "Burstable", "BestEffort"])'
ANSWERS = """
from IPython.display import display
if lesson._questions["choice"].given is not None:
    display(lesson.reveal("number", 50000, "half of the period"), lesson.reveal("choice", "Burstable"), lesson)
"""


def test_a_prediction_is_given_by_keyboard_and_mouse_kept_and_scored(open_cells):
    page = open_cells(QUESTIONS, NUMBER, CHOICE, ANSWERS)
    group = page.get_by_role("group", name="Which quota is written for the limit of 500m?")
    box = group.get_by_role("textbox")
    box.click()
    box.fill("many")
    box.press("Tab")
    group.get_by_text("number: 'many' is not a number").wait_for()
    group.locator("input[aria-invalid=true]").wait_for()
    box.fill("50000")
    box.press("Tab")
    page.get_by_text("Kept. The answer follows below.").first.wait_for()
    asked = page.get_by_role("group", name="Which class is it?")
    assert asked.bounding_box()["height"] < 100, "question, answers and the button share two lines"
    asked.get_by_label("Guaranteed").check()
    page.get_by_text("Kept. The answer follows below.").nth(1).wait_for()
    page.locator(".jp-CodeCell").last.locator(".jp-InputPrompt").click()
    page.keyboard.press("Shift+Enter")
    page.get_by_text("You predicted 50000; observed: 50000. Right. half of the period").wait_for()
    page.get_by_text("You predicted Guaranteed; observed: Burstable. Not this time.").wait_for()
    page.get_by_text("Predictions so far: 1 of 2 right.").wait_for()


WAITING = """
from IPython.display import display
first = lesson.ask("early", "How many levels?", choices=["3", "4"])
display(first, lesson.reveal("early", "4", "all pods, class, pod, container"))
"""
UNKNOWN = """
display(lesson.ask("unknown", "And how many files?", unit="files"), lesson.reveal("unknown", 9, "one for each limit"))
"""


def test_an_answer_waits_for_a_guess_or_for_i_dont_know(open_cells):
    page = open_cells(QUESTIONS, WAITING, UNKNOWN)
    page.get_by_text("Answer the question above first.").first.wait_for()
    assert page.locator(".kitlib-verdict").count() == 0
    page.get_by_role("group", name="How many levels?").get_by_label("4").check()
    page.get_by_text("You predicted 4; observed: 4. Right. all pods, class, pod, container").wait_for()
    page.get_by_role("group", name="How many levels?").get_by_label("3").check()
    page.get_by_text("The answer is shown; another guess does not count.").wait_for()
    page.get_by_role("group", name="And how many files?").get_by_role("button", name="I don’t know").click()
    page.get_by_text("You made no prediction. Observed: 9. one for each limit").wait_for()


HELD = """
from kitlib.lab import pod, table
from kitlib.charts import usage_chart
from kitlib.views import tree_view

cluster = lesson.simulated("here", 1)
cluster.apply(pod("forty-one"))
lesson.print("forty-one")
table({"answer": "forty-one"})
"""
CHART = 'usage_chart([0, 1, 2], {"forty-one": [1, 2, 3]}, title="forty-one")'
TREE = "tree_view(cluster.node().tree())"


def test_tables_charts_and_trees_of_later_cells_are_filled_by_the_last_guess(open_cells):
    page = open_cells(QUESTIONS, NUMBER, CHOICE, HELD, CHART, TREE)
    held = page.locator(".jp-OutputArea-output", has_text="This is shown when you have answered the questions above.")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-OutputArea-output')]"
        ".filter((one) => one.innerText.includes('This is shown when you have')).length === 4"
    )
    outputs = page.locator(".jp-OutputArea-output")
    assert "forty-one" not in " ".join(outputs.all_inner_texts()) and held.count() == 4
    page.get_by_role("group", name="Which class is it?").get_by_label("Burstable").check()
    page.get_by_text("Kept. The answer follows below.").first.wait_for()
    assert held.count() == 4
    page.get_by_role("group", name="Which quota").get_by_role("button", name="I don’t know").click()
    outputs.locator("td", has_text="forty-one").first.wait_for()
    outputs.locator("pre", has_text="forty-one").first.wait_for()
    outputs.locator("svg", has_text="forty-one").first.wait_for()
    outputs.locator(".kit-tree", has_text="forty-one").first.wait_for()
    assert held.count() == 0
