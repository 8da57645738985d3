"""The folder in which a job keeps what is done: one job has it at a time, and what is refused leaves none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import laspy
import numpy as np
import pytest
from street_files import NAMES, QUICK, read_copies, write_streets

from pinvgcn.distributed.group import Group
from pinvgcn.errors import InputError, LabelError, ParameterError, PinvGCNError, ScanFileError
from pinvgcn.features.tiles import Piece, shared_tiles
from pinvgcn.io.atomic import atomic_file, remove_leftovers
from pinvgcn.jobs import WorkFolder, locked
from pinvgcn.scans import SegmentRequest, plan, segment
from pinvgcn.scans.copies import ScanCopy
from pinvgcn.scans.requests import ScanFiles

WORK = ".pinvgcn-work"
SETTINGS = {**QUICK, "epochs": 2, "trees": 0, "rank": 6, "geometry": False}


@pytest.fixture(scope="module")
def streets(tmp_path_factory) -> Path:
    return write_streets(tmp_path_factory.mktemp("streets") / "tiles", 2_600)


def request(folder: Path, out: Path, **others) -> SegmentRequest:
    settings = {"settings": SETTINGS, "tile_points": 1_000, "fit_points": 2_000, **others}
    return SegmentRequest(**{"scans": folder / "*.la?", "labels": "classification", "out": out, **settings})


def stop_at(stage, stages=None):
    def tell(name, done, total):
        if stages is not None:
            stages.append(name)
        if name == stage:
            raise KeyboardInterrupt

    return tell


def test_a_second_start_is_refused_and_changes_nothing(streets, tmp_path):
    """The same command, another one, and either with --force, while the first sorts points."""
    out = tmp_path / "copies"
    refused = []

    def tell(name, done, total):
        if name == "Sorting" and not refused:
            before = sorted((out / WORK).rglob("*"))
            for others in ({}, {"force": True}, {"random_state": 1}):
                with pytest.raises(
                    ParameterError, match=rf"at work in .*: process {os.getpid()} on "
                ) as error:
                    segment(request(streets, out, **others))
                refused.append(str(error.value))
            assert sorted((out / WORK).rglob("*")) == before

    segment(request(streets, out), tell)
    assert len(refused) == 3
    segment(request(streets, tmp_path / "alone"))
    for found, expected in zip(read_copies(out), read_copies(tmp_path / "alone"), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_points_of_another_start_are_noticed(tmp_path):
    """What is appended to a part by somebody else does not become a tile."""
    points = np.random.default_rng(0).uniform(0, 9, (50, 3))

    def pieces():
        yield Piece(np.arange(50), points, np.empty((50, 0)))
        (part,) = tmp_path.glob("part-*-0")
        (part / "points-0").write_bytes(b"0" * 32 * 50)

    with pytest.raises(ScanFileError, match=r"must hold 50 points of tile 0\. Got 100"):
        shared_tiles(pieces(), tmp_path, total=50)


def test_a_copy_that_was_deleted_is_written_again(streets, tmp_path, monkeypatch):
    out = tmp_path / "copies"

    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(WorkFolder, "remove", interrupted)
        with pytest.raises(KeyboardInterrupt):
            segment(request(streets, out))
    (out / NAMES[1]).unlink()
    segment(request(streets, out))
    assert sorted(os.listdir(out)) == list(NAMES)


def test_protected_points_of_a_job_that_goes_on(streets, tmp_path, monkeypatch):
    """What is kept was read before the fault: it is noted, and copies have it."""
    out = tmp_path / "copies"
    asked = request(streets, out, keep=("2", "5"), relabel=True)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ScanCopy, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            segment(asked)
    stages: list[str] = []
    told = segment(asked, lambda name, *_: stages.append(name)).as_dict()
    assert "Reading" not in stages
    assert [one["points"] for one in told["protected"]["classes"]] == [20, 20]
    for name in NAMES:
        before = np.array(laspy.read(streets / name).classification)
        stays = np.isin(before, [2, 5])
        after = np.array(laspy.read(out / name).classification)
        np.testing.assert_array_equal(after[stays], before[stays])


REFUSED = {
    "sets": ({"sets": 0.99, "settings": {}}, LabelError, "0.99"),
    "members": ({"sets": 0.8}, ParameterError, "members must be 2 or more"),
    "an unknown field": ({"labels": "nothing"}, InputError, "nothing"),
    "a class column": ({"field": "confidence"}, ParameterError, "another name than"),
}


@pytest.mark.parametrize(("others", "error", "match"), REFUSED.values(), ids=REFUSED)
def test_refusals_leave_nothing_and_a_dry_run_has_them(streets, others, error, match, tmp_path):
    asked = request(streets, tmp_path / "deep" / "copies", **others)
    stages: list[str] = []
    with pytest.raises(PinvGCNError, match=match) as first:
        segment(asked, lambda name, *_: stages.append(name))
    assert isinstance(first.value, error)
    assert set(stages) <= {"Reading"}
    with pytest.raises(type(first.value)) as second:
        plan(asked)
    assert str(second.value) == str(first.value)
    assert os.listdir(tmp_path) == []


def test_a_dry_run_refuses_files_that_are_there(streets, tmp_path):
    out = tmp_path / "copies"
    assert "20 of 2 ground" in plan(request(streets, out)).facts["labels"]
    assert not out.exists()
    with pytest.raises(ParameterError, match="must not write over"):
        plan(request(streets, streets))
    with pytest.raises(ParameterError, match="go into a folder"):
        plan(request(streets, tmp_path / "copies.laz"))
    out.mkdir()
    (out / NAMES[2]).touch()
    with pytest.raises(ParameterError, match=rf"{NAMES[2]} is already there"):
        plan(request(streets, out))


@pytest.mark.parametrize(("fit_points", "stage"), [(2_000, "Averaging"), (9_000, "Writing")])
def test_one_scan_goes_on_too(streets, fit_points, stage, tmp_path):
    """Fitted in part, and whole: what was done before the interruption is not done again."""
    asked = request(
        streets, tmp_path / "out.las", scans=streets.with_name("whole.las"), fit_points=fit_points
    )
    with pytest.raises(KeyboardInterrupt):
        segment(asked, stop_at(stage))
    assert os.listdir(tmp_path) == [".out.las.pinvgcn-work"]
    stages: list[str] = []
    segment(asked, lambda name, *_: stages.append(name))
    assert not {"Reading", "Sorting", "Fitting"} & set(stages)
    assert os.listdir(tmp_path) == ["out.las"]
    segment(replace(asked, out=tmp_path / "alone.las"))
    first, second = (laspy.read(tmp_path / name) for name in ("out.las", "alone.las"))
    np.testing.assert_array_equal(first.classification, second.classification)
    np.testing.assert_array_equal(first.confidence, second.confidence)


def test_a_report_of_several_scans(streets, tmp_path):
    """One process has all points; of several processes none has."""
    asked = request(streets, tmp_path / "copies", report=tmp_path / "r.html", fit_points=9_000)
    result = segment(asked)
    assert result.confidence_map is not None
    assert len(result.sample.index) == result.fitted
    two = Group()
    two.size = 2
    with pytest.raises(ParameterError, match="--report shows all points"):
        segment(asked, group=two)


def test_what_is_the_same_command(streets, tmp_path, monkeypatch):
    """Another way to name files, and a model to save, change neither tiles nor answers."""
    out, stages = tmp_path / "copies", []
    with pytest.raises(KeyboardInterrupt):
        segment(request(streets, out), stop_at("Classifying"))
    monkeypatch.chdir(streets)
    kept = tmp_path / "kept.model"
    kept.write_text("of another job")
    asked = request(Path("."), Path("..") / streets.name / out, save_model=kept)
    with pytest.raises(ParameterError, match=r"kept\.model is already there"):
        segment(asked)
    kept.unlink()
    for _ in range(2):  # the second finds the model that the first has saved
        with pytest.raises(KeyboardInterrupt):
            segment(asked, stop_at("Classifying", stages))
    assert kept.is_file()
    assert set(stages) == {"Classifying"}
    plan(asked)  # as the run, it goes on


def test_leftovers_are_those_of_one_file(tmp_path):
    names = [".a.las.12.part", ".a.las.b.las.12.part", ".a.las.x.part", ".a*.las.3.part", ".abc.las.3.part"]
    for name in names:
        (tmp_path / name).touch()
    remove_leftovers(tmp_path / "a.las")
    assert sorted(os.listdir(tmp_path)) == sorted(names[1:])
    remove_leftovers(tmp_path / "a*.las")
    assert sorted(os.listdir(tmp_path)) == sorted([*names[1:3], names[4]])


def test_what_cannot_be_written_is_named_by_its_kind(tmp_path):
    place = tmp_path / "none" / "a"
    refused = pytest.raises(ScanFileError, match="could not be written")
    with refused, atomic_file(place, error=ScanFileError) as path:
        path.write_text("")


def refused_on_ranks(process_group, folder, out, others):
    group = Group.of(process_group)
    try:
        segment(request(folder, out, **others), group=group)
    except PinvGCNError as error:
        return type(error).__name__, str(error)
    return None


def test_all_ranks_name_one_cause(streets, ranks, tmp_path):
    """A column that one rank's file alone cannot hold; classes that are too many only on both ranks together;
    and a folder that another job has."""
    folder = tmp_path / "tiles"
    folder.mkdir()
    for number, name in enumerate(NAMES[:2]):
        las = laspy.read(streets / NAMES[1])
        if number:
            las = laspy.convert(las, point_format_id=1, file_version="1.2")
        las.classification[:] = 1
        las.write(folder / name)
    rows = [f"{name},{at},{2 if at % 2 else 40}" for name in NAMES[:2] for at in range(20)]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(["file,index,label", *rows]))
    out, asked = tmp_path / "copies", {"labels": str(labels)}
    first, second = ranks.run(2, refused_on_ranks, folder, out, asked, double=False)
    assert first == second
    assert first[0] == "ScanFileError"
    assert first[1].startswith("Rank 1: ")
    assert "holds classes 0 to 31. Got class 40" in first[1]
    rows = [f"{name},{at},{at + 200 * (name == NAMES[1])}" for name in NAMES[:2] for at in range(200)]
    labels.write_text("\n".join(["file,index,label", *rows]))
    first, second = ranks.run(2, refused_on_ranks, folder, out, asked, double=False)
    assert first == second
    assert "must hold classes, 256 at most. Got more" in first[1]
    assert not out.exists()
    with locked(out / WORK):
        found = ranks.run(2, refused_on_ranks, folder, out, {}, double=False)
    assert {kind for kind, _ in found} == {"ParameterError"}
    assert all("Another job is at work in" in message for _, message in found)


def files_on_ranks(process_group, folder, seen):
    """The second rank sees one file less, as over a network."""
    group = Group.of(process_group)
    return [path.name for path in ScanFiles.of([folder / seen[group.rank]], group=group).paths]


def test_ranks_read_one_list_of_files(streets, ranks):
    first, second = ranks.run(2, files_on_ranks, streets, ("*.la?", "[abc].la?"), double=False)
    assert first == second == list(NAMES)
