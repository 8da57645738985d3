"""A report stands alone, says what was found, and is well-formed."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from pinvgcn.datasets import load_dataset
from pinvgcn.errors import PinvGCNError
from pinvgcn.experiments.comparison import Comparison
from pinvgcn.experiments.demo import (
    Demo,
    do_rest,
    in_another_process,
    run_survey,
    thinned,
)
from pinvgcn.experiments.demo_report import write_report

VOID = {"meta", "br", "img", "path", "use", "image", "rect", "line", "circle", "polyline", "polygon"}
FORBIDDEN = {"script", "link", "iframe", "object", "embed", "base", "audio", "video"}


class Page(HTMLParser):
    """Collects what a page refers to, its identifiers, and tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.identifiers: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._attributes(attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._attributes(attributes)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text.append(data)

    def _attributes(self, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "srcset", "data", "poster"):
                self.references.append(value or "")
            if name == "id":
                self.identifiers.append(value or "")
            if name.startswith("on"):
                raise AssertionError(f"a script in {name}")


@pytest.fixture(scope="module")
def folder(small_demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    assert write_report(small_demo, folder) == folder / "report.html"
    return folder


@pytest.fixture(scope="module")
def source(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    page = Page()
    page.feed(source)
    page.close()
    return page


def test_the_page_needs_nothing_but_itself(source: str, page: Page) -> None:
    assert not FORBIDDEN & set(page.tags)
    assert page.references
    for reference in page.references:
        assert reference.startswith(("#", "data:image/png;base64,")), reference[:80]
    assert "@import" not in source
    for target in re.findall(r"url\(([^)]*)\)", source):
        assert target.startswith("#"), target
    assert not re.search(r"https?://", source)


def test_every_picture_is_inlined(page: Page) -> None:
    assert page.tags.count("svg") == 9
    assert page.tags.count("figure") == 9 + 1  # a table with a caption is one, too
    rendered = [reference for reference in page.references if reference.startswith("data:")]
    assert len(rendered) == 6 + 4 + 1  # the tiles, the patterns, the confidence


def test_the_page_opens_with_both_tiles(source: str, folder: Path) -> None:
    assert source.index("<title>Both tiles") < source.index("<h2>")
    assert (folder / "tiles.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_is_well_formed(page: Page) -> None:
    assert page.open == []
    assert len(page.identifiers) == len(set(page.identifiers))
    known = set(page.identifiers)
    assert {r[1:] for r in page.references if r.startswith("#")} <= known


def test_figures_take_the_colour_of_the_text(source: str) -> None:
    assert "currentColor" in source
    assert "#0a0b0c" not in source
    assert "prefers-color-scheme: dark" in source


def test_the_page_says_what_was_measured(small_demo: Demo, page: Page) -> None:
    text = " ".join(" ".join(page.text).split())
    for comparison in small_demo.comparisons:
        for line in comparison.summaries():
            assert line.title in text
            assert f"{100 * line.accuracy:.1f} % ± {100 * line.accuracy_sd:.1f}" in text
            assert f"{100 * line.mean_recall:.1f} %" in text
    assert small_demo.command in text
    for info in small_demo.sources:
        assert info.source in text
        assert info.licence in text


def test_the_best_method_stands_out_whichever_it_is(small_demo: Demo, source: str) -> None:
    bold = re.findall(r'<tr class="best"><td>([^<]*)', source)
    best = [comparison.summaries()[0].title for comparison in small_demo.comparisons]
    assert bold == best


def test_the_numbers_are_kept_as_data(small_demo: Demo, folder: Path) -> None:
    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert numbers["format"] == 2
    assert numbers["command"] == small_demo.command
    assert numbers["environment"]["versions"]["numpy"] == np.__version__
    for kept, comparison in zip(numbers["comparisons"], small_demo.comparisons, strict=True):
        for line in comparison.summaries():
            assert kept["methods"][line.method]["accuracy"] == line.accuracy
        if comparison is small_demo.next_tile:  # where no model is fitted
            assert kept["first_model"] is None
            continue
        model = comparison.answers["pinvgcn"].model
        assert kept["first_model"]["eigenvalues"] == pytest.approx(model.spectrum_.values.tolist())
        assert len(kept["first_model"]["loss_curve"]) == 30
        assert len(kept["first_model"]["mean_absolute_weight"]) == 3


def test_nothing_on_the_page_names_this_machine(source: str, folder: Path) -> None:
    for text in (source, (folder / "results.json").read_text(encoding="utf-8")):
        assert str(Path.home()) not in text
        assert str(Path(__file__).parents[2]) not in text


def test_ours_is_scored_like_the_others(small_demo: Demo) -> None:
    for comparison in small_demo.fitted:
        answer = comparison.answers["pinvgcn"]
        asked = (comparison.labels == -1) & (comparison.task.y != -1)
        expected = np.mean(answer.model.transduction_[asked] == comparison.task.y[asked])
        assert comparison.of("pinvgcn")[0].accuracy == pytest.approx(expected)
        assert set(comparison.of("pinvgcn")[0].seconds) == {"graph", "spectrum", "training", "other"}


def test_the_next_tile_is_that_of_the_model_and_has_no_label(small_demo: Demo) -> None:
    away, model = small_demo.next_tile, small_demo.survey.answers["pinvgcn"].model
    assert (away.labels == -1).all()
    assert away.answers["pinvgcn"].model is model
    found = model.predict(away.task.X, features=away.task.extra)
    np.testing.assert_array_equal(away.answers["pinvgcn"].codes, found)
    known = away.task.y != -1
    for name, answer in away.answers.items():
        share = np.mean(answer.codes[known] == away.task.y[known])
        assert away.of(name)[0].accuracy == pytest.approx(share)
        assert away.of(name)[0].confusion.sum() == known.sum()


def test_all_methods_of_the_demo_see_the_surroundings_of_points(small_demo: Demo) -> None:
    place, columns = 3, small_demo.survey.task.extra.shape[1]
    inputs = small_demo.survey.answers["pinvgcn"].model.network_.convs[0].weights.shape[1]
    assert inputs == place + 88 + columns
    for name, seen in (("nearest_neighbour", inputs), ("extra_trees", place + 124 + columns)):
        assert small_demo.survey.answers[name].model.n_features_in_ == seen
        assert "features" in small_demo.survey.of(name)[0].seconds
    for name in ("nearest_neighbour", "extra_trees"):  # in the next tile without the place
        assert small_demo.next_tile.answers[name].model.n_features_in_ == 124 + columns


def scores(found: Comparison, seeds: tuple[int, ...]) -> list[tuple[str, int, list[list[int]]]]:
    """What must not depend on which process has run a choice of labels."""
    return [(one.method, one.seed, one.confusion.tolist()) for one in found.scores if one.seed in seeds]


def test_a_choice_of_labels_alone_has_the_scores_that_it_has_among_others(small_demo: Demo) -> None:
    tiles = [thinned(load_dataset(name), 4_000) for name in ("ign1", "ign2")]
    told: list[str] = []
    using = small_demo.survey.methods
    home, away, _ = run_survey(*tiles, using, per_class=5, splits=2, only=range(1, 2), progress=told.append)
    assert "Survey, next tile, split 2 of 2: PinvGCN" in told
    for found, both in ((home, small_demo.survey), (away, small_demo.next_tile)):
        assert found.seeds == (1,)
        assert scores(found, (1,)) == scores(both, (1,))


TABLE_ALONE = {"splits": 1, "random_state": 0, "points": None, "only": range(0)}


def test_another_process_gives_the_same_table() -> None:
    job, told = {**TABLE_ALONE, "settings": {"epochs": 5}}, list[str]()
    with in_another_process(job, told.append) as rest:
        found, *others = rest()
    expected, *_ = do_rest(job, print)
    assert "Mushroom, split 1 of 1: PinvGCN" in told
    assert scores(found, (0,)) == scores(expected, (0,))
    np.testing.assert_array_equal(found.answers["pinvgcn"].codes, expected.answers["pinvgcn"].codes)
    assert others == [(), ()]


def test_a_process_that_fails_says_why() -> None:
    job = {**TABLE_ALONE, "settings": {"epochs": 0}}
    with (
        pytest.raises(PinvGCNError, match=r"second process of the demo failed: .*epochs must be"),
        in_another_process(job, print) as rest,
    ):
        rest()
