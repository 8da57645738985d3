"""The part of a scan inside bounds: the same points for every format, of COPC without reading the rest."""

from __future__ import annotations

import laspy
import numpy as np
import pytest
from copc_files import write_copc
from scan_files import SCANS, write_scans

from pinvgcn.errors import ParameterError
from pinvgcn.io import Bounds, open_scan
from pinvgcn.io.bounds import octree

RNG = np.random.default_rng(0)
POINTS = np.round(RNG.uniform(size=(6_000, 3)) * [200, 100, 10] + [1_000, 2_000, 30], 3)
CLASSES = (np.arange(6_000) % 9).astype(np.uint8)
BOX = "1020,2010,1050.5,2040"


@pytest.fixture(scope="module")
def copc(tmp_path_factory):
    path = tmp_path_factory.mktemp("copc") / "town.copc.laz"
    return path, write_copc(path, POINTS, CLASSES)


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    return write_scans(tmp_path_factory.mktemp("scans"))


def by_place(points, *others):
    order = np.lexsort(points.T)
    return points[order], *(other[order] for other in others)


class TestBox:
    def test_numbers(self):
        assert Bounds.parse("1,2,3,4") == Bounds((1, 2, -np.inf), (3, 4, np.inf))
        assert Bounds.parse(" 1, 2,3 ,4,5,6") == Bounds((1, 2, 3), (4, 5, 6))
        assert str(Bounds.parse("1,2,3,4.5")) == "1,2,3,4.5"
        assert str(Bounds.parse("1,2,3,4,5,6")) == "1,2,3,4,5,6"
        assert Bounds.parse("0,0,1,1").inside(np.array([[0, 1, 99], [0.5, 1.01, 0]])).tolist() == [
            True,
            False,
        ]

    @pytest.mark.parametrize("text", ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "3,2,1,4", "1,2,1,4", "nan,0,1,1"])
    def test_what_is_none(self, text):
        with pytest.raises(ParameterError, match=r"bounds must .*Got"):
            Bounds.parse(text)


def test_copc_is_what_its_own_reader_says(copc):
    path, _ = copc
    kept = Bounds.parse(BOX).inside(POINTS)
    assert open_scan(path).count == 6_000
    part = open_scan(path, bounds=Bounds.parse(BOX))
    assert part.count == kept.sum() > 100
    whole = part.read()
    points, classes = by_place(whole.points, whole.fields["classification"])
    expected, named = by_place(POINTS[kept], CLASSES[kept])
    np.testing.assert_allclose(points, expected, atol=1e-6)
    np.testing.assert_array_equal(classes, named)
    with laspy.CopcReader.open(str(path)) as reader:
        assert (
            len(reader.query(laspy.copc.Bounds(np.array([1020, 2010]), np.array([1050.5, 2040]))))
            == kept.sum()
        )


def test_copc_reads_few_nodes(copc):
    path, nodes = copc
    with octree(path, Bounds.parse("1020,2010,1030,2020")) as (_, few, _):
        assert len(few) < nodes / 3
        assert sum(node.byte_size for node in few) < path.stat().st_size / 3
    with octree(path, Bounds.parse("0,0,9000,9000")) as (_, every, _):
        assert len(every) == nodes


def test_pieces_are_the_whole(copc):
    part = open_scan(copc[0], bounds=Bounds.parse(BOX))
    whole = part.read().points
    for size in (7, 100, part.count, 10_000):
        pieces = list(part.chunks(size))
        assert [len(piece) for piece in pieces[:-1]] == [size] * (len(pieces) - 1)
        np.testing.assert_array_equal(np.concatenate([piece.points for piece in pieces]), whole)


@pytest.mark.parametrize("target", ["part.laz", "part.las"])
def test_a_copy_has_the_points_inside_and_its_own_totals(copc, tmp_path, target):
    part = open_scan(copc[0], bounds=Bounds.parse(BOX))
    inside = part.read()
    with part.writer(tmp_path / target, {"classification": np.uint8, "confidence": np.float32}) as writer:
        writer.write({"classification": np.full(part.count, 6), "confidence": np.linspace(0, 1, part.count)})
    with laspy.open(tmp_path / target) as file:
        header, las = file.header, file.read()
    assert header.point_count == len(las.points) == part.count
    np.testing.assert_allclose(las.xyz, inside.points, atol=1e-9)
    assert (las.classification == 6).all()
    np.testing.assert_allclose(header.mins, inside.points.min(axis=0), atol=1e-9)
    np.testing.assert_allclose(header.maxs, inside.points.max(axis=0), atol=1e-9)
    assert header.number_of_points_by_return[0] == part.count
    assert not any(record.user_id == "copc" for record in header.vlrs)


@pytest.mark.parametrize("name", SCANS)
def test_every_format(scans, tmp_path, name):
    source = open_scan(scans[name])
    whole = source.read()
    low, high = np.quantile(whole.points[:, :2], [0.2, 0.8], axis=0)
    bounds = Bounds.parse(",".join(map(repr, [*low.tolist(), *high.tolist()])))
    kept = bounds.inside(whole.points)
    part = open_scan(scans[name], bounds=bounds)
    assert part.count == kept.sum() > 0
    found = part.read()
    np.testing.assert_array_equal(found.points, whole.points[kept])
    for field in source.fields:
        np.testing.assert_array_equal(found.fields[field], whole.fields[field][kept])
    out = tmp_path / name
    with part.writer(out, {"confidence": np.float32}) as writer:
        writer.write({"confidence": np.arange(part.count)})
    again = open_scan(out).read()
    np.testing.assert_allclose(again.points, whole.points[kept], rtol=1e-12)
    np.testing.assert_array_equal(again.fields["confidence"], np.arange(part.count))
