"""A certificate states what a replay confirms; a changed word is found."""

from pathlib import Path

import pytest

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.lab import certificate, signing
from kitlib.lab.certificate import CAPSTONE
from kitlib.lab.definition import LabFolder
from kitlib.lab.grader import prepare
from kitlib.lab.launch import in_course
from kitlib.lab.progress import Progress

LABS = Path(__file__).parents[2] / "labs"
SEED = 5


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key, and the progress of a learner who has solved the capstone."""
    place = tmp_path_factory.mktemp("room")
    signing.make_key(place / "key.pem")
    folder = LabFolder.read(in_course("labs", CAPSTONE), SEED)
    cluster = prepare(folder)
    folder.answers().reference(cluster)
    progress = Progress(place / "ann")
    for task in folder.definition.tasks:
        given = {"journal": list(cluster.journal), "ground": {"kernel": "simulated", "cgroup_version": 0, "seed": SEED}}
        progress.record("check", CAPSTONE, task.key, task.points, task.points, **given)
    return place


@pytest.fixture(scope="module")
def signed(room: Path) -> Path:
    file = room / "certificate.html"
    given = ["--name", "Ann <b>", "--issuer", "Bob", "--key", str(room / "key.pem"), "-o", str(file)]
    assert cli.main(["certificate", "sign", str(room / "ann" / "progress.jsonl"), *given]) == 0
    return file


def test_a_signed_page_is_verified(room: Path, signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["certificate", "verify", str(signed), "--key", str(room / "key.pem.pub")]) == 0
    assert "Ann <b>: capstone, 10 of 10 points" in capsys.readouterr().out
    assert "<b>" not in signed.read_text().split("<script")[0], "the name is escaped"
    assert (room / "key.pem").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("old", "new"), [("Ann", "Eve"), ("confirmed by a replay", "praised"), ('"points": 10', '"points": 99')]
)
def test_a_changed_page_is_refused(room: Path, signed: Path, tmp_path: Path, old: str, new: str) -> None:
    text = signed.read_text()
    assert old in text or old.replace("10", "10.0") in text
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace(old, new, 1))
    with pytest.raises(KitError, match=r"not signed with|the page differs from the signed"):
        certificate.verify(changed, room / "key.pem.pub")


def test_another_key_is_refused(signed: Path, tmp_path: Path) -> None:
    signing.make_key(tmp_path / "other.pem")
    with pytest.raises(KitError, match="not signed with"):
        certificate.verify(signed, tmp_path / "other.pem.pub")


def test_a_claim_that_no_replay_confirms_is_not_signed(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    for key in ("report", "orders", "checkout", "shop", "urgent"):
        progress.record("check", CAPSTONE, key, 2, 2, journal=[])
    with pytest.raises(KitError, match="'report' is not confirmed"):
        certificate.confirmed(progress.path, "Eve", "")


def test_attempts_that_solve_one_incident_each_are_not_signed(tmp_path: Path) -> None:
    folder = LabFolder.read(in_course("labs", CAPSTONE), SEED)
    cluster = prepare(folder)
    folder.answers().reference(cluster)
    progress = Progress(tmp_path)
    for task in folder.definition.tasks:
        lost = folder.variant.urgent if task.key == "report" else folder.variant.report
        gone = {"action": "delete", "kind": "Pod", "name": lost, "namespace": "default"}
        ground = {"kernel": "simulated", "cgroup_version": 0, "seed": SEED}
        given = {"journal": [*cluster.journal, gone], "ground": ground}
        progress.record("check", CAPSTONE, task.key, task.points, task.points, **given)
    with pytest.raises(KitError, match=r"is not confirmed.*one attempt must solve all tasks"):
        certificate.confirmed(progress.path, "Eve", "")


def test_a_page_names_the_pods_of_the_learners_variant(signed: Path) -> None:
    v = LabFolder.read(in_course("labs", CAPSTONE), SEED).variant
    assert v.report != LabFolder.read(in_course("labs", CAPSTONE)).variant.report
    assert f"The scheduler placed {v.report} on data-1" in signed.read_text()


def test_a_key_is_never_overwritten(room: Path) -> None:
    with pytest.raises(KitError, match="File exists"):
        signing.make_key(room / "key.pem")


def test_an_unsigned_page_says_so(room: Path, tmp_path: Path) -> None:
    file = tmp_path / "unsigned.html"
    file.write_text(certificate.unsigned("Ann", CAPSTONE, 10, SEED))
    assert "not confirmed" in file.read_text()
    with pytest.raises(KitError):
        certificate.verify(file, room / "key.pem.pub")


def test_a_certificate_names_the_account_that_earned_it(room: Path, signed: Path, tmp_path: Path) -> None:
    assert certificate.GOOD_FAITH in signed.read_text()
    sent = tmp_path / "sent.jsonl"
    owned = '{"kind":"open","lab":"capstone","task":"","points":0,"of":0,"seconds":1,"details":{"owner":"%s"}}\n'
    sent.write_text(owned % "ann" + (room / "ann" / "progress.jsonl").read_text())
    statement = certificate.confirmed(sent, "Ann", "Bob")
    assert statement.earned_by == "ann" and "earned by the account ann" in certificate.page(statement)
    sent.write_text(owned % "eve" + sent.read_text())
    with pytest.raises(KitError, match="must have entries of only one account, got ann, eve"):
        certificate.confirmed(sent, "Eve", "Bob")


def test_a_certificate_that_was_signed_before_accounts_were_noted_is_verified(room: Path, tmp_path: Path) -> None:
    old = certificate.Statement("Ann", CAPSTONE, "The capstone", 10.0, 10.0, ("a",), 5, "2026-01-05", "Bob")
    assert "earned_by" not in old.to_data()
    (tmp_path / "old.html").write_text(certificate.sign(old, room / "key.pem"))
    assert certificate.verify(tmp_path / "old.html", room / "key.pem.pub") == old
