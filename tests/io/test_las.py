"""LAS and LAZ against laspy, an independent reader of the same bytes."""

from __future__ import annotations

import os
from pathlib import Path

import laspy
import lazrs
import numpy as np
import pytest
from las_files import write_las

from pinvgcn.errors import ScanFileError
from pinvgcn.io import Bounds, open_scan
from pinvgcn.io.las_layout import Layout
from pinvgcn.io.scan import ScanSource

VERSIONS = {"1.2": range(4), "1.3": range(6), "1.4": range(11)}
EVERY = [(number, version) for version, numbers in VERSIONS.items() for number in numbers]
WAVEFORMS = (4, 5, 9, 10)
EXTRA = (
    laspy.ExtraBytesParams("echo width", "f4", "in nanoseconds"),
    laspy.ExtraBytesParams("range", "u2", scales=[0.25], offsets=[-3.0]),
    laspy.ExtraBytesParams("normal", "3i2"),
)


def rewrite(source: ScanSource, out: Path, columns: dict[str, np.ndarray], piece: int = 173) -> laspy.LasData:
    """A copy with the columns, written in pieces; as laspy reads it."""
    with source.writer(out, {name: column.dtype for name, column in columns.items()}) as writer:
        for start in range(0, source.count, piece):
            writer.write({name: column[start : start + piece] for name, column in columns.items()})
    return laspy.read(out)


@pytest.mark.parametrize("ending", ["las", "laz"])
@pytest.mark.parametrize(("point_format", "version"), EVERY)
def test_every_point_format_reads_as_laspy_reads_it(tmp_path, point_format, version, ending):
    path = tmp_path / f"scan.{ending}"
    write_las(path, point_format, version, 300, extra=EXTRA)
    las = laspy.read(path)
    source = open_scan(path)
    assert (source.path, source.format, source.count, source.metres) == (path, ending, 300, None)
    pieces = list(source.chunks(128))
    assert [piece.start for piece in pieces] == [0, 128, 256]
    np.testing.assert_array_equal(np.concatenate([piece.points for piece in pieces]), las.xyz)
    whole = source.read()
    expected = [name for name in las.point_format.dimension_names if name not in ("X", "Y", "Z", "normal")]
    assert list(source.fields) == [*expected, "normal[0]", "normal[1]", "normal[2]"]
    for name, dtype in source.fields.items():
        values = np.array(las["normal"])[:, int(name[-2])] if "[" in name else np.array(las[name])
        assert whole.fields[name].dtype == dtype
        np.testing.assert_array_equal(whole.fields[name], values)
        np.testing.assert_array_equal(np.concatenate([piece.fields[name] for piece in pieces]), values)


@pytest.mark.parametrize(
    ("point_format", "version", "ending"),
    [
        (number, version, ending)
        for number, version in EVERY
        for ending in ("las", "laz")
        if ending == "las" or number not in WAVEFORMS
    ],
)
def test_a_copy_changes_what_it_must_and_nothing_else(tmp_path, point_format, version, ending):
    path, out = tmp_path / f"scan.{ending}", tmp_path / f"copy.{ending}"
    record = laspy.VLR("somebody", 7, "with a text", b"some bytes")
    extended = (laspy.VLR("somebody else", 8, "at the end", b"x" * 70_000),) if version == "1.4" else ()
    before = write_las(path, point_format, version, 300, extra=EXTRA, vlrs=(record,), evlrs=extended)
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 32, 300).astype(np.uint8)
    confidence = rng.random(300, dtype=np.float32)
    source = open_scan(path)

    rewrite(source, out, {"classification": np.array(before.classification)})
    if ending == "las":
        assert out.read_bytes() == path.read_bytes()

    after = rewrite(source, out, {"classification": classes, "confidence": confidence})
    np.testing.assert_array_equal(after.classification, classes)
    np.testing.assert_array_equal(after["confidence"], confidence)
    assert after["confidence"].dtype == np.float32
    for name in before.points.array.dtype.names:
        if name not in ("classification", "raw_classification"):
            assert after.points.array[name].tobytes() == before.points.array[name].tobytes(), name
    for name in set(before.point_format.dimension_names) - {"classification"}:
        np.testing.assert_array_equal(np.array(after[name]), np.array(before[name]))

    old, new = Layout(path), Layout(out)
    moved = {*range(96, 107), *range(227, 243)}  # positions, number of records, length of a point
    assert [at for at in range(len(old.header)) if old.header[at] != new.header[at] and at not in moved] == []
    assert (new.point_format, new.compressed, new.count) == (old.point_format, old.compressed, old.count)
    kept = [(r.head, r.data) for r in old.vlrs if r.key not in (("LASF_Spec", 4), ("laszip encoded", 22204))]
    assert [(r.head, r.data) for r in new.vlrs if (r.head, r.data) in kept] == kept
    assert after.header.vlrs.get_by_id("somebody")[0].record_data == b"some bytes"
    if extended:
        assert out.read_bytes().endswith(path.read_bytes()[old.evlr :])
        assert after.evlrs[0].record_data == b"x" * 70_000
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


@pytest.mark.parametrize("point_format", WAVEFORMS)
def test_points_with_waveforms_are_not_packed(tmp_path, point_format):
    """lazrs 0.8 loses their references when it packs, or packs them as no other program reads them."""
    path, out = tmp_path / "scan.las", tmp_path / "copy.laz"
    write_las(path, point_format, "1.4")
    with pytest.raises(ScanFileError, match=r"can be written as LAS only\. Got copy\.laz"):
        open_scan(path).writer(out, {})


def test_las_becomes_laz_and_back(tmp_path):
    path, packed, back = tmp_path / "scan.las", tmp_path / "scan.laz", tmp_path / "back.las"
    extended = (laspy.VLR("somebody", 8, "at the end", b"x" * 70_000),)
    write_las(path, 7, "1.4", 3000, extra=EXTRA, evlrs=extended)
    for source, target in ((path, packed), (packed, back)):
        with open_scan(source).writer(target, {}):
            pass
    assert open_scan(packed).format == "laz"
    assert packed.stat().st_size < path.stat().st_size
    assert back.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("point_format", "version"), [(1, "1.1"), (7, "1.5")])
def test_other_versions_are_read_and_copied_too(tmp_path, point_format, version):
    path, out = tmp_path / "scan.las", tmp_path / "copy.las"
    before = write_las(path, point_format, version)
    after = rewrite(open_scan(path), out, {"confidence": np.zeros(500)})
    assert str(after.header.version) == version
    np.testing.assert_array_equal(after.xyz, before.xyz)


def test_the_format_can_be_asked_for(tmp_path):
    path, out = tmp_path / "scan.las", tmp_path / "result"
    write_las(path)
    with open_scan(path).writer(out, {}):
        pass
    assert open_scan(out).format == "las"
    with open_scan(path).writer(out, {}, format="laz"):
        pass
    assert open_scan(out).format == "laz"


def test_the_content_decides_and_not_the_name(tmp_path):
    write_las(tmp_path / "scan.laz", 6, "1.4")
    (tmp_path / "scan.txt").write_bytes((tmp_path / "scan.laz").read_bytes())
    assert open_scan(tmp_path / "scan.txt").format == "laz"


@pytest.mark.parametrize("ending", ["las", "laz"])
def test_an_extra_dimension_takes_the_type_of_what_replaces_it(tmp_path, ending):
    path, out = tmp_path / f"scan.{ending}", tmp_path / f"copy.{ending}"
    before = write_las(path, 6, "1.4", extra=EXTRA)
    values = np.linspace(-1, 1, 500)
    after = rewrite(open_scan(path), out, {"range": values, "echo width": values.astype(np.float32)})
    assert list(after.point_format.extra_dimension_names) == ["echo width", "range", "normal"]
    np.testing.assert_array_equal(after["range"], values)
    np.testing.assert_array_equal(after["echo width"], values.astype(np.float32))
    np.testing.assert_array_equal(np.array(after["normal"]), np.array(before["normal"]))


@pytest.mark.parametrize("ending", ["las", "laz"])
def test_what_points_have_is_known_before_they_are_written(tmp_path, ending):
    """Without a second look at the source: the copy is that of a writer which nobody asked."""
    path = tmp_path / f"a.{ending}"
    write_las(path, 6, "1.4", 700)
    source, classes = open_scan(path), (np.arange(700) % 256).astype(np.uint8)
    expected = source.read().fields["classification"]
    for asked in (False, True):
        found = []
        with source.writer(tmp_path / f"{asked}.{ending}", {"classification": np.uint8}) as writer:
            for start in range(0, 700, 300):
                some = classes[start : start + 300]
                if asked:
                    found.append(writer.present("classification", len(some)))
                writer.write({"classification": some})
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert (tmp_path / f"True.{ending}").read_bytes() == (tmp_path / f"False.{ending}").read_bytes()


def test_one_element_of_several_is_replaced(tmp_path):
    path, out = tmp_path / "scan.las", tmp_path / "copy.las"
    before = write_las(path, 6, "1.4", extra=EXTRA)
    after = rewrite(open_scan(path), out, {"normal[1]": np.arange(500, dtype=np.int16)})
    expected = np.array(before["normal"])
    expected[:, 1] = np.arange(500)
    np.testing.assert_array_equal(np.array(after["normal"]), expected)
    with pytest.raises(ScanFileError, match=r"holds -32768 to 32767\. Got 40000 instead"):
        rewrite(open_scan(path), out, {"normal[1]": np.full(500, 40_000)})


def test_flags_in_the_byte_of_the_class_stay(tmp_path):
    path, out = tmp_path / "scan.las", tmp_path / "copy.las"
    before = write_las(path, 1)
    after = rewrite(open_scan(path), out, {"classification": np.full(500, 31, dtype=np.uint8)})
    for name in ("synthetic", "key_point", "withheld"):
        np.testing.assert_array_equal(np.array(after[name]), np.array(before[name]))
    assert (np.array(after.classification) == 31).all()


@pytest.mark.parametrize("point_format", range(6))
def test_classes_above_31_do_not_fit_old_point_formats(tmp_path, point_format):
    path, out = tmp_path / "scan.las", tmp_path / "copy.las"
    write_las(path, point_format, "1.3")
    out.write_text("what was there")
    source = open_scan(path)
    classes = np.full(500, 2)
    classes[400] = 65
    message = f"point format {point_format}, which holds classes 0 to 31. Got class 65 instead"
    with pytest.raises(ScanFileError, match=message):
        source.check_values("classification", classes)
    with (
        pytest.raises(ScanFileError, match=message),
        source.writer(out, {"classification": np.uint8}) as writer,
    ):
        writer.write({"classification": classes})
    assert sorted(os.listdir(tmp_path)) == ["copy.las", "scan.las"]
    assert out.read_text() == "what was there"


def test_classes_up_to_255_fit_new_point_formats(tmp_path):
    path, out = tmp_path / "scan.las", tmp_path / "copy.las"
    write_las(path, 6, "1.4")
    classes = np.arange(500) % 256
    open_scan(path).check_values("classification", classes)
    after = rewrite(open_scan(path), out, {"classification": classes.astype(np.uint8)})
    np.testing.assert_array_equal(after.classification, classes)
    with pytest.raises(ScanFileError, match=r"holds 0 to 255\. Got 256 instead"):
        open_scan(path).check_values("classification", [3, 256])


@pytest.mark.parametrize("ending", ["las", "laz"])
@pytest.mark.parametrize("described", ["nothing", "the first", "each by a record of its own"])
@pytest.mark.parametrize("extra", [("u1",), ("u1", "u4"), ("u1", "3i2", "f4")])
def test_bytes_that_nobody_described_stay(tmp_path, ending, described, extra):
    """Some programs lengthen points without saying what for, or write a record for each dimension."""
    path, out = tmp_path / f"scan.{ending}", tmp_path / f"copy.{ending}"
    names = [f"e{number}" for number in range(len(extra))]
    before = write_las(path, 1, extra=tuple(map(laspy.ExtraBytesParams, names, extra)))
    _describe(path, {"nothing": [], "the first": [1]}.get(described, [1] * len(extra)))
    expected, old = extra_bytes(before), Layout(path)
    known = {"nothing": 0}.get(described, before.points.array[names[0]].itemsize)
    everything = Bounds((-1e12,) * 3, (1e12,) * 3)
    for source in (open_scan(path), open_scan(path, bounds=everything)):
        after = rewrite(source, out, {"confidence": np.linspace(0, 1, 500)})
        found = extra_bytes(after)
        np.testing.assert_array_equal(np.delete(found, np.s_[known : known + 8], axis=1), expected)
        np.testing.assert_array_equal(after["confidence"], np.linspace(0, 1, 500))
        np.testing.assert_array_equal(after.xyz, before.xyz)
    rest = ["ExtraBytes"] if known < expected.shape[1] else []  # as laspy calls them
    assert list(after.point_format.extra_dimension_names) == [*names[: known > 0], "confidence", *rest]
    later = [r.data for r in old.vlrs if r.key == ("LASF_Spec", 4)][1:]
    assert [r.data for r in Layout(out).vlrs if r.key == ("LASF_Spec", 4)][1:] == later


def extra_bytes(las: laspy.LasData) -> np.ndarray:
    return las.points.array.view(np.uint8).reshape(500, -1)[:, las.point_format.num_standard_bytes :]


def _describe(path: Path, records: list[int]) -> None:
    """Records of so many descriptions each in the place of the one that describes all extra bytes."""
    content, layout = path.read_bytes(), Layout(path)
    (old,) = [record for record in layout.vlrs if record.key == ("LASF_Spec", 4)]
    data, rest = old.data, [r.head + r.data for r in layout.vlrs if r is not old]
    for count in records:
        size, data = 192 * count, data[192 * count :]
        start = len(old.data) - len(data) - size
        rest.append(old.head[:20] + size.to_bytes(2, "little") + old.head[22:] + old.data[start:][:size])
    head = bytearray(layout.header)
    points = len(head) + sum(map(len, rest))
    head[96:104] = points.to_bytes(4, "little") + len(rest).to_bytes(4, "little")
    behind = bytearray(content[layout.points :])
    if layout.compressed:  # where the table of chunks is
        table = int.from_bytes(behind[:8], "little") + points - layout.points
        behind[:8] = table.to_bytes(8, "little")
    path.write_bytes(bytes(head) + b"".join(rest) + bytes(behind))


def wkt(code: int) -> bytes:
    import pyproj

    return pyproj.CRS.from_epsg(code).to_wkt("WKT1_GDAL").encode() + b"\0"


def geo_keys(*keys: tuple[int, int]) -> bytes:
    numbers = [1, 1, 0, len(keys)]
    for key, value in keys:
        numbers += [key, 0, 1, value]
    return np.array(numbers, dtype="<u2").tobytes()


SURVEY_FOOT, FOOT = 1200 / 3937, 0.3048


@pytest.mark.parametrize(
    ("number", "data", "expected"),
    [
        (2112, wkt(25832), 1.0),
        (2112, wkt(2225), SURVEY_FOOT),  # NAD83 / California zone 1 (ftUS)
        (2112, wkt(2222), FOOT),  # NAD83 / Arizona East (ft)
        (2112, wkt(4326), None),  # degrees
        (2112, wkt(5703), None),  # heights alone
        (2112, b"nonsense", None),
        (34735, geo_keys((1024, 1), (3072, 25832)), 1.0),
        (34735, geo_keys((1024, 1), (3072, 2225)), SURVEY_FOOT),
        (34735, geo_keys((1024, 1), (3072, 32767), (3076, 9001)), 1.0),
        (34735, geo_keys((1024, 1), (3072, 32767), (3076, 9002)), FOOT),
        (34735, geo_keys((3076, 9003)), SURVEY_FOOT),
        (34735, geo_keys((1024, 2), (2048, 4326)), None),
        (34735, geo_keys((1024, 1), (3072, 60000)), None),
        (34735, b"\1\0\1", None),
        (2112, b'LOCAL_CS["site",UNIT["foot",0.3048]]\0', FOOT),
    ],
)
def test_feet_are_recognised(tmp_path, number, data, expected):
    path = tmp_path / "scan.las"
    write_las(path, 6, "1.4", vlrs=(laspy.VLR("LASF_Projection", number, "", data),))
    close = None if expected is None else pytest.approx(expected, rel=1e-12)
    assert open_scan(path).metres == close
    write_las(path, 6, "1.4", evlrs=(laspy.VLR("LASF_Projection", number, "", data),))
    assert open_scan(path).metres == close


def test_heights_in_other_units_do_not_hide_the_unit_of_the_map(tmp_path):
    path = tmp_path / "scan.las"
    compound = (
        b'COMPD_CS["both",'
        + wkt(2225).rstrip(b"\0")
        + b',VERT_CS["h",VERT_DATUM["d",2005],UNIT["metre",1],AXIS["Up",UP]]]'
    )
    write_las(path, 6, "1.4", vlrs=(laspy.VLR("LASF_Projection", 2112, "", compound),))
    assert open_scan(path).metres == pytest.approx(SURVEY_FOOT, rel=1e-12)


def test_an_index_over_the_old_packing_is_left_out(tmp_path):
    """A cloud-optimised file's octree points into its packed bytes, which a copy packs anew."""
    path, out = tmp_path / "scan.laz", tmp_path / "copy.laz"
    before = write_las(
        path,
        6,
        "1.4",
        vlrs=(laspy.VLR("copc", 1, "info", b"\0" * 160),),
        evlrs=(laspy.VLR("copc", 1000, "tree", b"\1" * 64), laspy.VLR("somebody", 3, "", b"stays")),
    )
    after = rewrite(open_scan(path), out, {"classification": np.array(before.classification)})
    assert not [record for record in Layout(out).vlrs if record.user == "copc"]
    assert [(record.user_id, record.record_data) for record in after.evlrs] == [("somebody", b"stays")]
    assert after.points.array.tobytes() == before.points.array.tobytes()


class TestRealScan:
    """An aerial scan with RGB, near infrared and a coordinate system; its two records of extra bytes, of
    which laspy reads the first, make it a hard one.
    """

    @pytest.fixture
    def path(self):
        folder = os.environ.get("PINVGCN_DATA", "")
        path = Path(folder) / "lidar" / "french_lidar_thinned.laz"
        if not folder or not path.is_file():
            pytest.skip("lidar/french_lidar_thinned.laz is not in the folder that PINVGCN_DATA names")
        return path

    def test_reading(self, path):
        las, source = laspy.read(path), open_scan(path)
        assert (source.format, source.count, source.metres) == ("laz", 37_805, 1.0)
        whole = source.read(fields=["classification", "nir"])
        np.testing.assert_array_equal(whole.points, las.xyz)
        assert list(whole.fields) == ["classification", "nir"]
        numbers, counts = np.unique(whole.fields["classification"], return_counts=True)
        assert dict(zip(numbers.tolist(), counts.tolist(), strict=True)) == {
            1: 355, 2: 22_859, 3: 929, 4: 1_816, 5: 9_974, 17: 1_333, 65: 539,
        }  # fmt: skip

    def test_a_copy_without_a_change_is_the_same_file(self, path, tmp_path):
        source, out = open_scan(path), tmp_path / "copy.laz"
        rewrite(source, out, {"classification": source.read().fields["classification"]}, piece=10_000)
        assert out.read_bytes() == path.read_bytes()

    def test_a_hidden_dimension_of_the_same_name_is_replaced(self, path, tmp_path):
        """The second record describes a byte called confidence."""
        before, out = laspy.read(path), tmp_path / "copy.laz"
        confidence = np.linspace(0, 1, len(before.points), dtype=np.float32)
        after = rewrite(open_scan(path), out, {"confidence": confidence}, piece=20_000)
        assert list(after.point_format.extra_dimension_names) == ["Deviation", "confidence", "ExtraBytes"]
        assert len([r for r in Layout(tmp_path / "copy.laz").vlrs if r.key == ("LASF_Spec", 4)]) == 1
        np.testing.assert_array_equal(after["confidence"], confidence)
        assert after.header.parse_crs() == before.header.parse_crs()
        for name in before.points.array.dtype.names[:-1]:
            np.testing.assert_array_equal(after.points.array[name], before.points.array[name])

    def test_a_hidden_dimension_of_another_name_stays(self, path, tmp_path):
        before = laspy.read(path)
        after = rewrite(open_scan(path), tmp_path / "copy.las", {"p": np.zeros(37_805, dtype=np.float32)})
        assert list(after.point_format.extra_dimension_names) == ["Deviation", "p", "ExtraBytes"]
        np.testing.assert_array_equal(after["ExtraBytes"], before["ExtraBytes"])


def test_a_packing_in_pieces_of_many_sizes_is_made_even(tmp_path):
    path, out = tmp_path / "scan.laz", tmp_path / "copy.laz"
    before = write_las(tmp_path / "plain.las", 6, "1.4", 900)
    layout = Layout(tmp_path / "plain.las")
    vlr = lazrs.LazVlr.new_for_compression(6, 0, True)
    data = bytes(vlr.record_data())
    header = bytearray(layout.header)
    header[104] |= 0x80
    start = len(header) + 54 + len(data)
    header[96:104] = start.to_bytes(4, "little") + (1).to_bytes(4, "little")
    record = b"\0\0laszip encoded\0\0" + (22204).to_bytes(2, "little") + len(data).to_bytes(2, "little")
    with path.open("wb") as file:
        file.write(bytes(header) + record + b"\0" * 32 + data)
        compressor = lazrs.LasZipCompressor(file, vlr)
        raw = np.frombuffer(before.points.array.tobytes(), np.uint8).reshape(900, 30)
        compressor.compress_chunks([raw[:100].reshape(-1), raw[100:650].reshape(-1), raw[650:].reshape(-1)])
        compressor.done()
    source = open_scan(path)
    np.testing.assert_array_equal(source.read().points, before.xyz)
    after = rewrite(source, out, {"classification": np.array(before.classification)})
    assert after.points.array.tobytes() == before.points.array.tobytes()


def test_damage_is_said(tmp_path):
    path, damaged = tmp_path / "scan.las", tmp_path / "damaged.las"
    write_las(path, 6, "1.4")
    write_las(tmp_path / "scan.laz", 6, "1.4")
    plain, packed = path.read_bytes(), (tmp_path / "scan.laz").read_bytes()
    table = Layout(tmp_path / "scan.laz").points

    def changed(content: bytes, at: int, new: bytes) -> bytes:
        return content[:at] + new + content[at + len(new) :]

    for content, message in (
        (plain[:100], "a LAS header has at least 227 bytes. Got 100 instead"),
        (plain[:300], "is truncated or damaged: its header must be followed by points"),
        (plain[:-31], r"its header promises 500 points\. Got 498 instead"),
        (changed(plain, 247, b"\xff" * 8), r"promises 18,446,744,073,709,551,615 points\. Got 500 instead"),
        (changed(plain, 247, b"\0" * 8), "holds no points"),
        (changed(plain, 25, b"\7"), r"must be LAS 1\.2 to 1\.4\. Got version 1\.7 instead"),
        (changed(plain, 100, b"\xff" * 4), "4,294,967,295 variable length records do not fit"),
        (changed(plain, 104, b"\x0b"), "damaged"),
        (changed(plain, 105, b"\x05\0"), "Incoherent point size"),
        (changed(plain, 131, b"\0" * 8), "scales must be finite and not zero"),
        (changed(plain, 155, b"\xff" * 8), "offsets finite"),
        (packed[: table + 5], "promises 500 points. Got 0 instead"),
        (packed[:-20], "damaged"),
        (packed[: len(packed) // 2], "ends before its table of chunks"),
        (
            changed(packed, 247, (60_000).to_bytes(8, "little")),
            "promises 60,000 points; its chunks hold 50,000",
        ),
        (changed(packed, table + 8 + 30 + 4, b"\xff" * 4), "layers are larger than the chunk"),
        (changed(packed, table + 400, b"\xff" * 200), None),
    ):
        damaged.write_bytes(content)
        if message is None:  # within the packed values: other points, or an error
            try:
                assert len(open_scan(damaged).read()) == 500
            except ScanFileError:
                continue
        else:
            with pytest.raises(ScanFileError, match=message):
                open_scan(damaged).read()
