"""The figures of error and time over the rank."""

from __future__ import annotations

from pinvgcn.experiments.methods.pinvgcn import Setting, pinv
from pinvgcn.experiments.reproduce import hypergraphs, oakland
from pinvgcn.experiments.reproduce.document import Block, Cell, Figure, Table, Text
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment
from pinvgcn.experiments.reproduce.paper import Reported, paper
from pinvgcn.experiments.reproduce.result_tables import BOLD, brief, eigenvectors
from pinvgcn.experiments.reproduce.results import Results, RunSummary
from pinvgcn.experiments.reproduce.task_specs import CLOUDS, TABLES
from pinvgcn.report.figures.curves import Curve, Look, Panel, Scale, draw, without_place
from pinvgcn.report.figures.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

# Eigenvectors that exist with λ < 1: what is planned beyond is one entry. What was used, the results tell.
LARGEST = {"mushroom": 83, "covertype45": 92, "covertype67": 112}
SIGMA = 100.0
LOOKS: dict[tuple[str, Setting], Look] = {
    ("oakland1", "paper"): Look("Oakland 1, σ = 100", BLUE, "o"),
    ("oakland2", "paper"): Look("Oakland 2, σ = 100", VERMILLION, "D"),
    ("oakland1", "corrected"): Look("Oakland 1, corrected", SKY, "o"),
    ("oakland2", "corrected"): Look("Oakland 2, corrected", ORANGE, "D"),
    ("mushroom", "paper"): Look("Mushroom", GREEN, "s"),
    ("covertype45", "paper"): Look("Covertype45", PURPLE, "^"),
    ("covertype67", "paper"): Look("Covertype67", BLUE, "v"),
}
STEP = 25
TICKS = range(0, 151, STEP)
MARKED = "fewer eigenvectors used"


def _theirs(data: str) -> dict[int, float]:
    """Misclassification rates of the paper's figure in percent, by rank."""
    return {int(rank): rate for rank, rate in paper()["figure_rank"]["misclassification"][_name(data)]}


def ranks(data: str) -> list[int]:
    """Those of the paper's figure."""
    return list(_theirs(data))


def _name(data: str) -> str:
    return f"{data}_sigma100" if data in CLOUDS else data


def entry(data: str, rank: int, setting: Setting = "paper") -> Entry:
    """One point of the figure. Beyond the largest rank of a hypergraph, that one."""
    if data in CLOUDS:
        return Entry(oakland.SPECS[data], pinv(setting, sigma=SIGMA, rank=rank))
    beyond = rank >= LARGEST[data]
    return Entry(hypergraphs.SPECS[data], pinv("paper", rank=None if beyond else rank))


def entries() -> list[Entry]:
    """Tables first, which are cheap; then the clouds, in both settings."""
    shown = sorted(LOOKS, key=lambda key: key[0] in CLOUDS)
    return [entry(data, rank, setting) for data, setting in shown for rank in ranks(data)]


def reported(results: Results) -> list[tuple[Entry, Reported]]:
    """The points of the paper's curves, as accuracies, but for ranks with fewer eigenvectors."""
    found = [
        (entry(data, rank), rank, Reported(100 - rate))
        for data in (*TABLES, *CLOUDS)
        for rank, rate in _theirs(data).items()
    ]
    return [(one, cell) for one, rank, cell in found if not results.short_of(one, rank)]


def blocks(results: Results) -> list[Block]:
    """Error and time, on clouds and on hypergraphs."""
    clouds = _figure(results, "rank-clouds", "point clouds", [key for key in LOOKS if key[0] in CLOUDS])
    tables = _figure(results, "rank-hypergraphs", "hypergraphs", [(name, "paper") for name in TABLES])
    return [clouds, tables, *_remark(results), _numbers(results)]


def _numbers(results: Results) -> Table:
    """A row for each rank of the paper's figure, a column for each curve."""
    rows = []
    for rank in sorted({rank for data, _ in LOOKS for rank in ranks(data)}):
        cells = [Cell(str(rank))]
        for data, setting in LOOKS:
            rate = _theirs(data).get(rank)
            point = entry(data, rank, setting)
            cells.append(Cell("") if rate is None else brief(results, point, rate, 2, rate=True))
        rows.append(cells)
    caption = (
        "Misclassification rate in percent: ours above; below the paper's and, in brackets, ours minus the "
        "paper's in standard errors (our standard deviation for both sides) and the number of our "
        f"runs. {BOLD}"
    )
    return Table(["Rank", *(look.title for look in LOOKS.values())], rows, caption)


def _remark(results: Results) -> list[Block]:
    """From which ranks on there are fewer eigenvectors, and how many."""
    parts = []
    for (data, setting), look in LOOKS.items():
        beyond = [rank for rank in ranks(data) if results.short_of(entry(data, rank, setting), rank)]
        if beyond:
            used = eigenvectors(results, entry(data, beyond[-1], setting))
            parts.append(f"{look.title}: {used} from r = {beyond[0]} on")
    if not parts:
        return []
    return [
        Text(
            "Crosses: fewer eigenvectors than the rank of the paper's figure were used, as no more exist "
            "with λ < 1 on a hypergraph, or stand out from rounding on a cloud. Such a point does not count "
            f"as one of the paper's. {'; '.join(parts)}."
        )
    ]


def _figure(results: Results, name: str, where: str, shown: list[tuple[str, Setting]]) -> Figure:
    panels = [_errors(results, shown), _times(results, shown)]
    caption = (
        "Misclassification rate, and time of a run on its own with its set-up, against the rank, on "
        f"{where}. Our times are by the processor; only where none of them was read, by the clock. The "
        "paper's are those of a laptop with a graphics card."
    )
    alternative = f"Error and time against the rank on {where}, ours and the paper's."
    return Figure(name, draw(panels, marked=MARKED), caption + without_place(panels), alternative)


def _errors(results: Results, shown: list[tuple[str, Setting]]) -> Panel:
    found = {key: _summaries(results, *key) for key in shown}
    scale = Scale("Rank r", "Misclassification rate (%)", log_y=True, x_ticks=_ticks(shown))
    return Panel("Error", scale, _curves(results, found, "misclassification"))


def _times(results: Results, shown: list[tuple[str, Setting]]) -> Panel:
    """By the processor where that is known of any point: beside it, the clock would say nothing."""
    found = {key: _summaries(results, *key) for key in shown}
    if any(one.timed for points in found.values() for one in points.values()):
        found = {key: {r: one for r, one in points.items() if one.timed} for key, points in found.items()}
    scale = Scale("Rank r", "Time (s)", x_ticks=_ticks(shown), y_from=0)
    return Panel("Time", scale, _curves(results, found, "seconds"))


def _summaries(results: Results, data: str, setting: Setting) -> dict[int, RunSummary]:
    """By rank, where there are runs."""
    found = {rank: results.summary(entry(data, rank, setting)) for rank in ranks(data)}
    return {rank: summary for rank, summary in found.items() if summary is not None}


def _curves(
    results: Results, found: dict[tuple[str, Setting], dict[int, RunSummary]], measure: str
) -> list[Curve]:
    """The paper's, and ours; crosses mark fewer eigenvectors than the rank."""
    curves = []
    for (data, setting), summaries in found.items():
        look, rate = LOOKS[data, setting], measure == "misclassification"
        if setting == "paper":
            curves.append(Curve(look, paper()["figure_rank"][measure][_name(data)]))
        points = [(float(r), 100 - one.accuracy if rate else one.seconds) for r, one in summaries.items()]
        errors = [one.standard_error if rate else None for one in summaries.values()]
        marked = [results.short_of(entry(data, rank, setting), rank) for rank in summaries]
        curves.append(Curve(look, points, errors, marked))
    return curves


def _ticks(shown: list[tuple[str, Setting]]) -> list[int]:
    """No further than the ranks go, but for the last step."""
    last = max(rank for data, _ in shown for rank in ranks(data))
    return [tick for tick in TICKS if tick < last + STEP]


RANK = Experiment("rank", "Rank dependency", entries, blocks, reported=reported)
