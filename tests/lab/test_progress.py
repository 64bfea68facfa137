"""A learner's progress survives a killed kernel; the best try of a task and the first answer of a prediction count."""

from kitlib.lab.progress import Progress


def test_the_best_check_and_the_first_prediction_count(tmp_path):
    progress = Progress(tmp_path)
    progress.record("check", "01", "a", 1, 4)
    progress.record("check", "01", "a", 3, 4)
    progress.record("check", "01", "a", 2, 4)
    progress.record("prediction", "01", "q", 0, 1)
    progress.record("prediction", "01", "q", 1, 1)
    progress.record("check", "02", "b", 5, 5)
    assert progress.score("01") == (3, 5)


def test_a_line_cut_off_by_a_killed_kernel_is_passed_over(tmp_path):
    progress = Progress(tmp_path)
    progress.record("hint", "01", "a", 0, 0)
    with progress.path.open("a") as file:
        file.write('{"kind": "check", "lab": "01", "ta')
    assert progress.hints_taken("01", "a") == 1
    assert len(list(progress.entries())) == 1
    progress.record("hint", "01", "a", 0, 0)
    assert progress.hints_taken("01", "a") == 2


def test_the_folder_can_be_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path / "here"))
    Progress().record("hint", "01", "a", 0, 0, text="look at limits")
    assert (tmp_path / "here" / "progress.jsonl").exists()


def test_a_call_for_help_is_kept_and_withdrawn(tmp_path):
    progress = Progress(tmp_path)
    assert progress.call_for_help("01") == "Your trainer sees that you need help."
    assert progress.call_for_help("01", False) == "Your trainer sees that you no longer need help."
    assert [(one.kind, one.lab, one.details) for one in progress.entries()] == [
        ("help", "01", {"wanted": True}),
        ("help", "01", {"wanted": False}),
    ]


def test_a_new_learner_has_no_score(tmp_path):
    assert Progress(tmp_path).score("01") == (0, 0)
