"""``pinvgcn segment`` and ``pinvgcn predict`` as a new user types them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import laspy
import numpy as np
import pandas as pd
import pytest

from pinvgcn import PinvGCNClassifier
from pinvgcn.cli import main
from pinvgcn.datasets import generate_street, random_split
from pinvgcn.io import open_table
from pinvgcn.tables import plan_table

COMMAND = [sys.executable, "-m", "pinvgcn"]


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small street, 15 labels a class, with noise and strays of another class number."""
    street = generate_street(1_000, random_state=0)
    labels = random_split(street.y, per_class=15, random_state=0)
    header = laspy.LasHeader(point_format=1, version="1.2")
    header.scales = np.full(3, 0.001)
    las = laspy.LasData(header)
    las.x, las.y, las.z = street.X.T
    las.classification = np.where(labels < 0, 1, street.y + 2)
    path = tmp_path_factory.mktemp("scan") / "street.las"
    las.write(path)
    return path


@pytest.fixture(scope="module")
def models(scan, tmp_path_factory):
    """A model of a scan and one of a table, each with a file that it could classify."""
    folder = tmp_path_factory.mktemp("models")
    points = np.column_stack([laspy.read(scan)[axis] for axis in "xyz"])
    PinvGCNClassifier(epochs=2).fit(points, np.arange(len(points)) % 2).save(folder / "scan.model")
    rows = [f"{'red' if i % 2 else 'blue'},{i % 7},{['a', 'b', ''][i % 3]}" for i in range(30)]
    (folder / "t.csv").write_text("\n".join(["colour,size,kind", *rows]) + "\n")
    plan = plan_table(open_table(folder / "t.csv"), "kind")
    about = {"kind": "table", "target": plan.target.to_dict(), "recipe": plan.recipe.to_dict()}
    table = PinvGCNClassifier("categorical", epochs=2, members=2).fit(plan.frame, plan.codes)
    table.save(folder / "table.model", about=about)
    pd.read_csv(folder / "t.csv").to_parquet(folder / "t.parquet")
    return folder


def typed(*arguments: object, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


def test_from_labels_to_a_model_to_another_file(scan, tmp_path, capfd):
    """The way of the first page: segment, look at the report, predict."""
    done = typed(
        "segment", scan, "--labels", "classification", "-o", tmp_path / "out.las",
        "--save-model", tmp_path / "street.model", "--report", tmp_path / "out.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "\x1b[" not in done.stdout + done.stderr  # no colours in a pipe
    assert "2 ground" in done.stdout
    assert "Held-out labels" in done.stdout
    assert "held-out recall" in done.stdout
    assert "The report took" in done.stdout
    assert f"Written: {tmp_path / 'out.las'}" in done.stdout
    after = laspy.read(tmp_path / "out.las")
    assert set(np.array(after.classification)) <= {2, 3, 4, 5, 6}
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    for words in ("street.las", "Right, of the scan", "Best simple method", "<svg", "high vegetation"):
        assert words in page
    assert "http" not in page.replace("http://www.w3.org", "")  # needs nothing from elsewhere

    arguments = ["predict", tmp_path / "street.model", scan, "-o", tmp_path / "again.las", "--json"]
    assert main([str(word) for word in arguments]) == 0
    said = json.loads(capfd.readouterr().out)
    again = laspy.read(tmp_path / "again.las")
    free = np.array(laspy.read(scan).classification) == 1
    np.testing.assert_array_equal(again.classification[free], after.classification[free])
    counts = {one["class"]: one["points"] for one in said["classes"]}
    assert counts == {c: int((again.classification == c).sum()) for c in range(2, 7)}
    assert (said["points"], said["outside"], said["not_predicted"]) == (1_000, 0, 0)
    assert said["points_per_second"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again.las", "out.html", "out.las", "street.model",
    ]  # fmt: skip


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_goes_on(number, code, scan, tmp_path):
    """In the middle of tiles, with files on disk: Ctrl-C, and what a shutdown or a job manager sends."""
    street = generate_street(40_000, random_state=0)
    labels = random_split(street.y, per_class=15, random_state=0)
    frame = pd.DataFrame(street.X, columns=["x", "y", "z"]).assign(label=labels)
    frame.to_csv(tmp_path / "large.csv", index=False)
    process = subprocess.Popen(
        [*COMMAND, "segment", str(tmp_path / "large.csv"), "--labels", "label",
         "-o", str(tmp_path / "out.csv"), "--fit-points", "20000", "--tile-points", "8000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # a test run in the background ignores Ctrl-C, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        for _ in range(600):
            if list(tmp_path.glob(".out.csv.*/job.json")) or process.poll() is not None:
                break
            time.sleep(0.1)
        assert list(tmp_path.glob(".out.csv.*/job.json")), "no tiles were made"
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == code, err
    assert err.splitlines()[-1] == "pinvgcn: interrupted: the same command goes on from what is done"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.csv.pinvgcn-work", "large.csv"]


@pytest.mark.parametrize("command", ["segment", "predict"])
def test_a_dry_run_says_what_would_be_done(scan, models, command, tmp_path, done_by):
    given = {"segment": [scan, "--labels", "classification"], "predict": [models / "scan.model", scan]}
    arguments = given[command]
    said, _ = done_by(command, *arguments, "-o", tmp_path / "out.las", "--dry-run")
    assert all(words in said for words in ("1,000 points", "GiB of memory", "Nothing was written."))
    said, _ = done_by(command, *arguments, "-o", tmp_path / "out.las", "--dry-run", "--json")
    assert json.loads(said)["points"] == 1_000
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["{scan}"], "Missing option '--labels'"),
        (["{scan}", "--labels", "classification"], "Missing option '-o'"),
        (["absent.las", "--labels", "classification", "-o", "{out}"], "There is no file absent.las"),
        (["{folder}", "--labels", "classification", "-o", "{out}"], "which is a folder"),
        (["{scan}", "--labels", "klass", "-o", "{out}"], "has no field 'klass'"),
        (
            ["{scan}", "--labels", "classifications.csv", "-o", "{out}"],
            "neither a file classifications.csv nor a field of that name.*did you mean 'classification'",
        ),
        (["{scan}", "--labels", "{labels}", "-o", "{out}", "--unlabelled", "0"], "--unlabelled names values"),
        (["{scan}", "--labels", "{labels}", "-o", "{out}"], "31"),  # a class of 40 in point format 1
        (["{scan}", "--labels", "classification", "-o", "{folder}/b.docx"], r"\.las, \.laz.*Got '\.docx'"),
        (["{scan}", "--labels", "classification", "-o", "{folder}/b.las.gz"], "leave out the .gz"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--sets", "0.95"], "at most 15/16"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--sets", "95"], "coverage must be"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--sets", "0.9", "--field", "set"], "field"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--priors", "mine"], "--priors"),
        (["{scan}", "--labels", "classification", "-o", "{folder}"], "is already there|folder"),
        (["{scan}", "--labels", "classification", "-o", "{folder}/a/b.las"], "folder must exist"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--fit-points", "5"], "--fit-points"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--features", "tint"], "no field 'tint'"),
        (
            ["{scan}", "--labels", "classification", "-o", "{out}", "--unlabelled", "1,2,3,4,5"],
            "two classes or more. Got 15 of 6 alone",
        ),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--report", "{scan}"], "not write over"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--bounds", "1,2,3"], "Got '1,2,3'"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--bounds", "5,5,1,1"], "Got '5,5,1,1'"),
        (["{scan}", "--labels", "classification", "-o", "{out}", "--save-model", "{folder}/a/b"], "folder"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_what_cannot_be_done_is_one_line_and_exit_code_2(scan, arguments, expected, dry, tmp_path, refused):
    """A dry run refuses what the run would refuse."""
    labels = scan.with_name("labels.csv")
    labels.write_text("index,label\n0,40\n1,2\n2,40\n3,2\n")
    places = {"scan": scan, "out": tmp_path / "out.las", "folder": tmp_path, "labels": labels}
    err = refused("segment", *(argument.format(**places) for argument in arguments), *dry)
    assert re.search(expected, err), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["{scan}", "{models}/scan.model"], "must come first.*try: pinvgcn predict .*scan.model"),
        (["{models}/t.csv", "{models}/table.model"], "must come first"),
        (["{scan}", "{scan}"], "street.las, which is none; the order is: pinvgcn predict MODEL INPUT"),
        (["{models}/scan.model", "{models}/table.model"], "table.model, which looks like a saved model"),
        (["{models}/table.model", "{scan}"], "is a model of a table and .* is a scan. Use .*segment"),
        (["{models}/scan.model", "{models}/t.parquet"], "is a model of a scan and .* is a table. .*classify"),
        (["{models}/scan.model", "{models}/t.csv"], "is a model of a scan and .* is a table. .*classify"),
        (["{models}/scan.model", "{scan}", "--probabilities"], "--probabilities is not for a scan"),
        (["{models}/scan.model", "{scan}", "--sets", "0.5"], "fit again .* with --sets"),
        (["{models}/table.model", "{models}/t.csv", "--field", "a"], "--field is not for a table"),
        (["{models}/table.model", "{models}/t.csv", "--metres", "1"], "--metres is not for a table"),
        (["{models}/table.model", "{models}/t.csv", "--tile-points", "5000"], "--tile-points is not for"),
        (["{models}/table.model", "{models}/t.csv", "--sets", "0.95"], "at most 10/11"),
        (["{models}/table.model", "{models}/t.parquet"], r"must end in \.parquet, \.pq\. Got"),
        (["{models}/scan.model", "absent.las"], "There is no file absent.las"),
        (["absent.model", "{scan}"], "There is no file absent.model"),
    ],
)  # fmt: skip
def test_a_model_and_a_file_that_do_not_fit(scan, models, arguments, expected, dry, tmp_path, refused):
    filled = [argument.format(scan=scan, models=models) for argument in arguments]
    err = refused("predict", *filled, "-o", tmp_path / "out.csv", *dry)
    assert re.search(expected, err), err
    assert list(tmp_path.iterdir()) == []


def test_priors_and_class_weight(scan, tmp_path, capfd):
    common = ["segment", str(scan), "--labels", "classification", "--force", "--json"]
    files = ["-o", str(tmp_path / "out.las"), "--save-model", str(tmp_path / "m")]
    assert main([*common, *files, "--priors", "estimated", "--class-weight", "balanced"]) == 0
    model = PinvGCNClassifier.load(tmp_path / "m")
    assert (model.priors, model.class_weight) == ("estimated", "balanced")
    assert model.fitted_.smoothing.factors is not None
    estimated = json.loads(capfd.readouterr().out)["classes"]
    assert main([*common, *files, "--priors", "labels", "--report", str(tmp_path / "r.html")]) == 0
    model = PinvGCNClassifier.load(tmp_path / "m")
    assert (model.priors, model.class_weight) == (None, None)
    said = json.loads(capfd.readouterr().out)
    assert [one["points"] for one in said["classes"]] != [one["points"] for one in estimated]
    assert {"holding out labels", "report"} <= set(said["seconds"])
    work = sum(s for stage, s in said["seconds"].items() if stage not in ("holding out labels", "report"))
    assert said["points_per_second"] == pytest.approx(1_000 / work)
    ours = said["held_out"]["methods"][0]
    confusion = np.array(ours["confusion"])
    np.testing.assert_allclose(ours["recall"], np.diag(confusion) / confusion.sum(axis=1))


def test_a_damaged_model_is_one_line(scan, tmp_path, refused):
    (tmp_path / "m.model").write_bytes(b"nothing of ours")
    assert "m.model" in refused("predict", tmp_path / "m.model", scan, "-o", tmp_path / "out.las")
    assert not (tmp_path / "out.las").exists()


def test_quiet(scan, tmp_path, capfd):
    arguments = ["segment", str(scan), "--labels", "classification", "-o", str(tmp_path / "out.las"), "-q"]
    assert main(arguments) == 0
    assert capfd.readouterr() == ("", "")
    assert main(arguments) == 2  # it is there now
    assert main([*arguments, "--force"]) == 0
