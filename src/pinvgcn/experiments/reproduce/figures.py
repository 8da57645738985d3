"""The paper's figures: error over labels, accuracy over the factor R, error and time over the rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pinvgcn.experiments.methods import paper_baseline
from pinvgcn.experiments.methods.pinvgcn import Setting, pinv
from pinvgcn.experiments.reproduce.experiment import (
    CLOUDS,
    LABELS,
    NETWORKS,
    TABLES,
    Entry,
    Experiment,
    TaskSpec,
)
from pinvgcn.experiments.reproduce.result_tables import (
    BOLD,
    Block,
    Cell,
    Figure,
    Table,
    Text,
    brief,
    eigenvectors,
)
from pinvgcn.experiments.reproduce.results import Reported, Results, RunSummary, paper
from pinvgcn.experiments.task import TITLES, Method
from pinvgcn.report.figures.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from pinvgcn.report.figures.methods import Curve, Look, Panel, Scale, draw, without_place


@dataclass(frozen=True)
class Series:
    """A curve of the paper, and the entries that stand for its points."""

    look: Look
    theirs: Mapping[float, float]  # in percent, by x
    entries: Mapping[float, Entry]
    counts: bool = True  # False: it only stands beside the paper's
    rate: bool = True  # of misclassification; False: an accuracy

    def reported(self) -> list[tuple[Entry, Reported]]:
        values = self.theirs.items() if self.counts else ()
        return [(self.entries[x], Reported(100 - value if self.rate else value)) for x, value in values]

    def points(self, results: Results) -> dict[float, RunSummary]:
        """Of ours, where there are runs."""
        found = ((x, results.summary(entry)) for x, entry in self.entries.items())
        return {x: summary for x, summary in found if summary is not None}

    def curves(self, results: Results) -> list[Curve]:
        """The paper's, and ours with its standard errors."""
        ours = self.points(results)
        points = [(x, 100 - one.accuracy if self.rate else one.accuracy) for x, one in ours.items()]
        theirs = [Curve(self.look, list(self.theirs.items()))] if self.counts else []
        return [*theirs, Curve(self.look, points, [one.standard_error for one in ours.values()])]


Panels = Mapping[str, Sequence[Series]]  # by data set


def _numbers(results: Results, panels: Panels, head: Sequence[str], digits: int) -> Table:
    """A row for each curve, a column for each point."""
    rows = [
        [
            Cell(f"{TITLES[data]}: {one.look.title}"),
            *(
                brief(results, one.entries[x], value, digits, rate=one.rate)
                for x, value in one.theirs.items()
            ),
        ]
        for data, series in panels.items()
        for one in series
    ]
    rate = all(one.rate for series in panels.values() for one in series)
    return Table(["Data set and method", *head], rows, _explained(rate))


def _explained(rate: bool) -> str:
    """The caption of a figure's numbers."""
    return (
        f"{'Misclassification rate' if rate else 'Accuracy'} in percent: ours above; below the paper's and, "
        "in brackets, ours minus the paper's in standard errors (our standard deviation for both sides) and "
        f"the number of our runs. {BOLD}"
    )


def _entries(panels: Iterable[Series]) -> list[Entry]:
    return [entry for series in panels for entry in series.entries.values()]


SIZES = (5, 10, 20, 50)  # labels per class
SPLIT_LOOKS: dict[str, tuple[Look, Callable[[], Method]]] = {
    "PinvGCN": (Look("PinvGCN, full rank", BLUE, "o"), pinv),
    "HGNN*": (Look("HGNN*", ORANGE, "^"), partial(paper_baseline, "HGNN*")),
    "ARMA": (Look("ARMA", VERMILLION, "X"), partial(paper_baseline, "ARMA", knn=10)),
    "GDC": (Look("GDC", GREEN, "s"), partial(paper_baseline, "GDC", knn=10)),
}


def split_size() -> dict[str, list[Series]]:
    """By data set; rates of misclassification."""
    curves = paper()["figure_split_size"]
    return {
        data: [
            Series(
                look,
                {float(size): 100 * rate for size, rate in curves[data][name]},
                {float(size): Entry(TaskSpec(data, size), make()) for size in SIZES},
            )
            for name, (look, make) in SPLIT_LOOKS.items()
        ]
        for data in TABLES
    }


def _split_size_blocks(results: Results) -> list[Block]:
    scale = Scale("Training samples per class", "Misclassification rate (%)", log_y=True, x_ticks=SIZES)
    panels = [
        Panel(TITLES[data], scale, [curve for one in series for curve in one.curves(results)])
        for data, series in split_size().items()
    ]
    caption = (
        "Misclassification rate against the number of labels per class. The paper gives no standard "
        "deviations here: the difference in standard errors takes ours for both sides."
    )
    alternative = (
        "Misclassification rate against labels per class on three hypergraphs, ours and the paper's."
    )
    head = [f"{size} labels" for size in SIZES]
    return [
        Figure("split-size", draw(panels), caption + without_place(panels), alternative),
        _numbers(results, split_size(), head, 2),
    ]


def _split_size_entries() -> list[Entry]:
    """Method by method."""
    by_method = zip(*split_size().values(), strict=True)
    return _entries(series for group in by_method for series in group)


FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FACTOR_LOOKS = {200: Look("PinvGCN, rank 200", BLUE, "s"), 500: Look("PinvGCN, rank 500", VERMILLION, "D")}
RANGES = {"citeseer": (55.0, 75.0), "cora": (65.0, 85.0), "pubmed": (65.0, 85.0)}


def regularized(data: str, R: float, rank: int) -> Entry:
    """One point of the figure of citation networks as hypergraphs, over the weight R of their words."""
    return Entry(TaskSpec(data, regularization=R), pinv("paper", rank=rank))


def regularization() -> dict[str, list[Series]]:
    """By network; accuracies."""
    curves = paper()["figure_categorical_regularization"]
    return {
        data: [
            Series(
                look,
                dict(curves[data][f"rank{rank}"]),
                {R: regularized(data, R, rank) for R in FACTORS},
                rate=False,
            )
            for rank, look in FACTOR_LOOKS.items()
        ]
        for data in NETWORKS
    }


def _regularization_blocks(results: Results) -> list[Block]:
    panels = []
    for data, series in regularization().items():
        gcn = "GCN, reported", paper()["table_citation"][data]["GCN"]
        scale = Scale(
            "Regularization factor R", "Accuracy (%)", log_x=True, x_ticks=(0.01, 0.1, 1, 10),
            y_range=RANGES[data],
        )  # fmt: skip
        curves = [curve for one in series for curve in one.curves(results)]
        panels.append(Panel(TITLES[data], scale, curves, [gcn]))
    caption = (
        "Accuracy on the standard split against the regularization factor R. Dotted: GCN, as the paper's "
        "table reports it (its figure draws the line of Cora at 80.18)."
    )
    alternative = (
        "Accuracy against the regularization factor on three citation networks, ours and the paper's."
    )
    head = [f"R = {R:g}" for R in FACTORS]
    return [
        Figure("regularization", draw(panels), caption, alternative),
        _numbers(results, regularization(), head, 1),
    ]


# Eigenvectors that exist with λ < 1: what is planned beyond is one entry. What was used, the results tell.
LARGEST = {"mushroom": 83, "covertype45": 92, "covertype67": 112}
SIGMA = 100.0
RANK_LOOKS: dict[tuple[str, Setting], Look] = {
    ("oakland1", "paper"): Look("Oakland 1, σ = 100", BLUE, "o"),
    ("oakland2", "paper"): Look("Oakland 2, σ = 100", VERMILLION, "D"),
    ("oakland1", "corrected"): Look("Oakland 1, corrected", SKY, "o"),
    ("oakland2", "corrected"): Look("Oakland 2, corrected", ORANGE, "D"),
    ("mushroom", "paper"): Look("Mushroom", GREEN, "s"),
    ("covertype45", "paper"): Look("Covertype45", PURPLE, "^"),
    ("covertype67", "paper"): Look("Covertype67", BLUE, "v"),
}
MARKED = "fewer eigenvectors used"


def of_rank(data: str, rank: int, setting: Setting = "paper") -> Entry:
    """One point of the figure over the rank. Beyond the largest rank of a hypergraph, that one."""
    spec = TaskSpec(data, LABELS[data])
    if data in CLOUDS:
        return Entry(spec, pinv(setting, sigma=SIGMA, rank=rank))
    return Entry(spec, pinv("paper", rank=None if rank >= LARGEST[data] else rank))


def ranks() -> dict[tuple[str, Setting], Series]:
    """By data set and setting; rates of misclassification."""
    curves = paper()["figure_rank"]["misclassification"]
    found = {}
    for (data, setting), look in RANK_LOOKS.items():
        theirs = {int(rank): rate for rank, rate in curves[_in_paper(data)]}
        entries = {float(rank): of_rank(data, rank, setting) for rank in theirs}
        rates = {float(rank): rate for rank, rate in theirs.items()}
        found[data, setting] = Series(look, rates, entries, setting == "paper")
    return found


def _in_paper(data: str) -> str:
    return f"{data}_sigma100" if data in CLOUDS else data


def _rank_reported(results: Results) -> list[tuple[Entry, Reported]]:
    """But for ranks that fewer eigenvectors were used for."""
    return [
        pair
        for series in ranks().values()
        for rank, pair in zip(series.theirs, series.reported(), strict=False)  # none where it does not count
        if not results.short_of(pair[0], int(rank))
    ]


def _rank_blocks(results: Results) -> list[Block]:
    """Error and time, on clouds and on hypergraphs."""
    parts = (
        ("rank-clouds", "point clouds", {key: one for key, one in ranks().items() if key[0] in CLOUDS}),
        ("rank-hypergraphs", "hypergraphs", {key: one for key, one in ranks().items() if key[0] in TABLES}),
    )
    drawn: list[Block] = []
    for name, where, shown in parts:
        panels = [rank_errors(results, shown), rank_times(results, shown)]
        caption = (
            "Misclassification rate, and time of a run on its own with its set-up, against the rank, on "
            f"{where}. Our times are by the processor; only where none of them was read, by the clock. The "
            f"paper's are those of a laptop with a graphics card.{without_place(panels)}"
        )
        alternative = f"Error and time against the rank on {where}, ours and the paper's."
        drawn.append(Figure(name, draw(panels, marked=MARKED), caption, alternative))
    return [*drawn, *_rank_remark(results), _rank_numbers(results)]


Ranks = Mapping[tuple[str, Setting], Series]


def rank_errors(results: Results, shown: Ranks) -> Panel:
    """Crosses mark fewer eigenvectors than the rank."""
    curves = []
    for series in shown.values():
        *theirs, ours = series.curves(results)
        curves += [*theirs, Curve(ours.look, ours.points, ours.errors, _short(results, series, ours))]
    scale = Scale("Rank r", "Misclassification rate (%)", log_y=True, x_ticks=_ticks(shown))
    return Panel("Error", scale, curves)


def rank_times(results: Results, shown: Ranks) -> Panel:
    """By the processor where that is known of any point: beside it, the clock would say nothing."""
    found = {key: one.points(results) for key, one in shown.items()}
    timed = any(one.timed for points in found.values() for one in points.values())
    curves = []
    for (data, setting), series in shown.items():
        if setting == "paper":
            curves.append(Curve(series.look, paper()["figure_rank"]["seconds"][_in_paper(data)]))
        points = [(x, one.seconds) for x, one in found[data, setting].items() if one.timed or not timed]
        ours = Curve(series.look, points, [None] * len(points))
        curves.append(Curve(ours.look, points, ours.errors, _short(results, series, ours)))
    return Panel("Time", Scale("Rank r", "Time (s)", x_ticks=_ticks(shown), y_from=0), curves)


def _short(results: Results, series: Series, ours: Curve) -> list[bool]:
    return [results.short_of(series.entries[rank], int(rank)) for rank, _ in ours.points]


def _ticks(shown: Ranks, step: int = 25) -> list[int]:
    """No further than the ranks go, but for the last step."""
    last = max(max(series.entries) for series in shown.values())
    return [tick for tick in range(0, 151, step) if tick < last + step]


def _rank_remark(results: Results) -> list[Block]:
    """From which ranks on there are fewer eigenvectors, and how many."""
    parts = []
    for series in ranks().values():
        beyond = [rank for rank, entry in series.entries.items() if results.short_of(entry, int(rank))]
        if beyond:
            used = eigenvectors(results, series.entries[beyond[-1]])
            parts.append(f"{series.look.title}: {used} from r = {beyond[0]:g} on")
    text = (
        "Crosses: fewer eigenvectors than the rank of the paper's figure were used, as no more exist with "
        "λ < 1 on a hypergraph, or stand out from rounding on a cloud. Such a point does not count as one of "
        f"the paper's. {'; '.join(parts)}."
    )
    return [Text(text)] if parts else []


def _rank_numbers(results: Results) -> Table:
    """A row for each rank of the paper's figure, a column for each curve."""
    rows = [
        [
            Cell(f"{rank:g}"),
            *(
                brief(results, series.entries[rank], series.theirs[rank], 2, rate=True)
                if rank in series.entries
                else Cell("")
                for series in ranks().values()
            ),
        ]
        for rank in sorted({rank for series in ranks().values() for rank in series.entries})
    ]
    return Table(["Rank", *(series.look.title for series in ranks().values())], rows, _explained(True))


def _rank_entries() -> list[Entry]:
    """Tables first, which are cheap; then the clouds, in both settings."""
    return _entries(series for _, series in sorted(ranks().items(), key=lambda item: item[0][0] in CLOUDS))


def _every(panels: Callable[[], Panels]) -> Callable[[Results], list[tuple[Entry, Reported]]]:
    return lambda results: [pair for series in panels().values() for one in series for pair in one.reported()]


SPLIT_SIZE = Experiment(
    "split-size",
    "Split size",
    _split_size_entries,
    _split_size_blocks,
    reported=_every(split_size),
)
REGULARIZATION = Experiment(
    "regularization",
    "Categorical regularization",
    # network by network, both ranks of a factor together: they share the hypergraph
    lambda: [regularized(data, R, rank) for data in NETWORKS for R in FACTORS for rank in FACTOR_LOOKS],
    _regularization_blocks,
    reported=_every(regularization),
)
RANK = Experiment("rank", "Rank dependency", _rank_entries, _rank_blocks, reported=_rank_reported)
