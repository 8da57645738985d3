"""The page beside a segmented scan: what was read, what came out, and how far it can be trusted."""

from __future__ import annotations

import time
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.io.asprs import class_name
from pinvgcn.io.atomic import write_text
from pinvgcn.jobs import Progress, silent
from pinvgcn.report import figures, prose
from pinvgcn.report.environment import environment
from pinvgcn.report.held_out import OURS, HeldOut
from pinvgcn.report.held_out_scans import FOLDS, held_out_of_scan
from pinvgcn.report.learned import learned_filters
from pinvgcn.report.page import cell, definitions, document, figure, section, table
from pinvgcn.scans import Result
from pinvgcn.scans.labels import name_of
from pinvgcn.scans.questions import Question

HEADER = """<header>
<p class="eyebrow">pinvgcn {version} · segmented scan</p>
<h1>{name}: {points} points, classified from {labels} labels</h1>
<div class="cards">{cards}</div>
</header>"""
UNSURE = """<p>Seen from above, each cell has the mean probability of the classes that were written there.
Where it is low, the model guesses. The numbers mark the first places of the list below: a label there
helps most. A place is chosen by the number of points around it that are expected to be wrong, the sum of
1 − confidence, and no two places are close together.</p>"""
SHOWN = 10  # questions
CARD = '<div class="card"><h3>{title}</h3><p class="number">{number}</p><p class="soft">{text}</p></div>'

TRUST = f"""<p>The labels were parted into {FOLDS}. Each part in turn was hidden, a model fitted to the
others, and then asked for the hidden ones. Simple methods answered the same questions from the same
features. <em>Of the labels</em> is the share of hidden labels that were found. Labels are mostly picked
class by class, and a scan is not: <em>of the scan</em> gives each class the weight of its share of the
points, as the model finds it. The model itself prefers frequent classes where it is in doubt, which is
right for a scan and wrong for labels of which all classes have equally many: a line of its own has the
answers that it gives when classes are as frequent as their labels. Ranges hold the truth with a probability
of 95 %, if the labels of each class were picked at random. Where they were picked in patches, or where a
class is easy to tell, every method looks better than it is elsewhere.</p>"""
EXPECTED = """<p class="lead">{sentence}</p>
<p>What follows compares methods on labels that were held out at random. These lie close to others of their
class: where labels lie in few places, the figures are too high for every method.</p>"""
UNTESTED = """<p>No class has two labels, so none could be hidden and asked for: how well the model does is
unknown. Label a few more points of each class.</p>"""


def write_scan_report(
    result: Result, path: Path, *, random_state: int = 0, tell: Progress = silent
) -> HeldOut | None:
    """Test the model on held-out labels and write the page; returns how the methods did."""
    assert result.sample is not None
    started = time.perf_counter()

    def progress(title: str, fold: int, folds: int) -> None:
        if title == OURS:  # the others take little time
            tell("Holding out labels", fold - 1, folds)

    heldout = held_out_of_scan(
        result.model,
        np.maximum(result.sample.codes, -1),
        columns=result.sample.columns,
        random_state=random_state,
        progress=progress,
    )
    tell("Holding out labels", FOLDS, FOLDS)
    drawn = time.perf_counter()
    result.seconds["holding out labels"] = drawn - started
    tell("Drawing the report", 0, 1)
    write_text(path, scan_page(result, heldout, drawn))
    result.seconds["report"] = time.perf_counter() - drawn
    return heldout


def scan_page(result: Result, heldout: HeldOut | None, started: float) -> str:
    """The whole page, which was ``started`` at this time."""
    surroundings = environment()
    version = surroundings["versions"]["pinvgcn"]
    body = [
        _header(result, heldout, version),
        _classes(result, heldout),
        _pictures(result),
        _doubts(result),
        _trust(result, heldout),
        _learned(result),
    ]
    seconds = {**result.seconds, "report": time.perf_counter() - started}  # all but this last section
    body.append(_choices(result, seconds, surroundings))
    return document(f"{result.source.path.name}, segmented", body, generator=f"pinvgcn {version}")


def short_names(result: Result) -> tuple[str, ...]:
    """The names of the classes, without their numbers where the standard names them."""
    return tuple(class_name(c) if result.asprs and isinstance(c, int) else str(c) for c in result.classes)


def _header(result: Result, heldout: HeldOut | None, version: str) -> str:
    cards = [
        CARD.format(
            title="Confidence",
            number=_percent(result.mean_confidence),
            text="mean probability of the classes that were written",
        )
    ]
    if result.estimate is not None:
        cards = [
            _expected(result.estimate),
            *([] if heldout is None else [_at_random(result, heldout)]),
            *cards,
        ]
    elif heldout is not None:
        ours, best = heldout.ours, heldout.best_simple
        low, high = ours.interval
        shares = _shares(result)
        share, give = ours.accuracy_under(shares)
        other = heldout.best_simple_under(shares)
        cards = [
            CARD.format(
                title="Right, of labels that were held out",
                number=_percent(ours.accuracy),
                text=f"{_percent(low)} to {_percent(high)}. "
                f"Best simple method: {escape(best.title)}, {_percent(best.accuracy)}",
            ),
            CARD.format(
                title="Right, of the scan",
                number=_percent(share),
                text=f"± {100 * give:.1f}, by the shares of the classes. "
                f"Best simple method: {escape(other.title)}, {_percent(other.accuracy_under(shares)[0])}",
            ),
            *cards,
        ]
    return HEADER.format(
        version=escape(version),
        name=escape(result.source.path.name),
        points=f"{result.source.count:,}",
        labels=f"{int(result.given.sum()):,}",
        cards="\n".join(cards),
    )


def _expected(estimate: AccuracyEstimate) -> str:
    """The headline: what is expected at unlabelled points, or why nothing can be said."""
    words = [estimate.basis, estimate.advice]
    if estimate.accuracy is None:
        number, words = "no estimate", [estimate.reason, estimate.advice]
    else:
        number = _percent(estimate.accuracy)
        if estimate.low is not None and estimate.high is not None:
            share = f"{100 * estimate.coverage:g} % interval"
            words.insert(0, f"{share} {100 * estimate.low:.1f} to {100 * estimate.high:.1f}")
    text = " ".join(f"{word[:1].upper()}{word[1:].rstrip('.')}." for word in words if word)
    return CARD.format(
        title="Expected to be right, of the unlabelled points", number=number, text=escape(text)
    )


def _at_random(result: Result, heldout: HeldOut) -> str:
    """Random folds, beside an estimate that knows where labels lie."""
    share, give = heldout.ours.accuracy_under(_shares(result))
    best = heldout.best_simple_under(_shares(result))
    return CARD.format(
        title="Right, of labels held out at random",
        number=_percent(share),
        text=f"± {100 * give:.1f}, by the shares of the classes: too high where labels lie in few places. "
        f"Best simple method: {escape(best.title)}, {_percent(best.accuracy_under(_shares(result))[0])}",
    )


def _classes(result: Result, heldout: HeldOut | None) -> str:
    total = max(int(result.counts.sum()), 1)
    recall = np.full(len(result.classes), np.nan) if heldout is None else heldout.ours.recall
    rows = [
        [
            cell(escape(name_of(value, asprs=result.asprs))),
            cell(f"{labels:,}"),
            cell(f"{count:,}"),
            cell(_percent(count / total), bar=count / total),
            *(
                [cell("") if np.isnan(share) else cell(_percent(share), shade=float(share))]
                if heldout is not None
                else []
            ),
        ]
        for value, labels, count, share in zip(
            result.classes, result.given, result.counts, recall, strict=True
        )
    ]
    protected = result.protected_line
    lines = [
        *([] if protected is None else [f"Protected, not in the table: {protected}"]),
        *([result.sets.line()] if result.sets is not None else []),
        *result.notes(),
    ]
    notes = "".join(f"<li>{escape(line)}</li>" for line in lines)
    caption = (
        "Recall: of the labels of the class that were held out, the share found."
        if heldout is not None
        else ""
    )
    return section(
        "What there is",
        table(
            ["Class", "Labels", "Points", "Share", *(["Recall"] if heldout is not None else [])],
            rows,
            caption,
        ),
        f'<ul class="soft">{notes}</ul>' if notes else "",
    )


def _pictures(result: Result) -> str:
    assert result.sample is not None
    codes = result.model.transduction_proba_.argmax(axis=1)
    shown = len(result.sample.points)
    part = "all" if shown == result.source.count - result.noise else f"{shown:,} of the"
    return section(
        "The scan",
        figure(
            figures.views(result.sample.points, codes, short_names(result)),
            f"What the model says of {part} points.",
        ),
    )


def _doubts(result: Result) -> str:
    doubts = result.doubts
    if doubts is None or doubts.map is None:
        return ""
    shown = doubts.questions[:SHOWN]
    rows = [
        [
            cell(str(question.number)),
            cell(f"{question.x:.2f}"),
            cell(f"{question.y:.2f}"),
            cell(f"{question.z:.2f}"),
            cell(escape(question.predicted_name) or "none"),
            cell(_percent(question.confidence)),
            cell(_runner_up(question)),
            cell(f"{question.wrong:,.0f} of {question.points:,}"),
        ]
        for question in shown
    ]
    file = "" if doubts.path is None else f"; all are in {escape(doubts.path.name)}"
    kept = "" if result.protected is None else " that are not protected"
    count = f"The first {len(shown)} of {len(doubts.questions)} places{file}." if shown else ""
    return section(
        "Where it is unsure",
        UNSURE,
        figure(
            figures.plan(doubts.map, [(question.x, question.y) for question in shown]),
            f"Mean confidence of the points without a label{kept}, in cells of {doubts.map.side:g} "
            f"{_unit(result)}; cells without points are left empty.",
        ),
        table(
            ["Place", "x", "y", "z", "Class", "Confidence", "Runner-up", "Expected to be wrong"],
            rows,
            f"{count} Expected to be wrong: of the points in the cell around it.",
            kind="dense",
        )
        if shown
        else "",
    )


def _runner_up(question: Question) -> str:
    if question.runner_up_probability is None:
        return ""
    return f"{escape(question.runner_up_name)}, {_percent(question.runner_up_probability)}"


def _unit(result: Result) -> str:
    return "m" if result.metres == 1 else f"units ({result.metres:g} m)"


def _trust(result: Result, heldout: HeldOut | None) -> str:
    lead = "" if result.expectation is None else EXPECTED.format(sentence=escape(result.expectation))
    if heldout is None:
        return section("How far it can be trusted", lead, UNTESTED)
    order = sorted(heldout.scores, key=lambda method: -method.accuracy)
    rows = []
    for method in order:
        low, high = method.interval
        share, give = method.accuracy_under(_shares(result))
        rows.append(
            [
                cell(escape(method.title)),
                cell(_percent(method.accuracy), bar=method.accuracy),
                cell(f"{_percent(low)} to {_percent(high)}"),
                cell(f"{_percent(share)} ± {100 * give:.1f}", bar=share),
            ]
        )
    asked = heldout.ours.count
    best = [at for at, method in enumerate(order) if method.accuracy == order[0].accuracy]
    names = tuple(name.replace(" ", "\n") for name in short_names(result))
    return section(
        "How far it can be trusted",
        lead,
        TRUST,
        table(
            ["Method", "Right, of the labels", "Range", "Right, of the scan"],
            rows,
            f"{asked:,} labels, each of them asked for once.",
            best=best,
        ),
        '<div style="max-width: 36rem">',
        figure(
            figures.confusion(heldout.ours.confusion, names, "scan"),
            "PinvGCN's answers to hidden labels, in shares of each class.",
        ),
        "</div>",
    )


def _learned(result: Result) -> str:
    model = result.model
    series = [("Scan", np.asarray(model.spectrum_.values), model.loss_curve_)]
    return section(
        "What the network learned",
        prose.FILTERS,
        figure(figures.filters(learned_filters(model), "scan"), prose.FILTER_FIGURE),
        figure(figures.training(series), prose.TRAINING),
    )


def _choices(result: Result, seconds: dict[str, float], surroundings: dict[str, Any]) -> str:
    model, source = result.model, result.source
    whole = source.count - result.noise
    fitted = (
        f"all {whole:,} points"
        if result.fitted == whole
        else f"{result.fitted:,} of {whole:,} points, the labelled ones and others at random; their local "
        "shapes are those of the whole scan"
    )
    left = ", ".join(f"{name} ({why})" for name, why in result.left_out.items())
    unit = "1 m" if result.metres == 1 else f"{result.metres:g} m"
    facts = [
        ("Read", f"{source.path.name}, {source.format.upper()}, {source.count:,} points, unit {unit}"),
        ("Written", f"{result.out.name}, class in {result.field!r}, beside it confidence and outside"),
        *([("Sets", f"column 'set', {result.set_column}")] if result.sets is not None else []),
        ("Features", ", ".join(result.features)),
        *([("Left out", left)] if left else []),
        ("Fitted to", fitted),
        ("Graph", f"Gaussian, σ = {model.sigma_:.3g} m; {model.spectrum_.rank} eigenvectors by "
                  f"{model.spectrum_.solver}; λ₁ = {model.spectrum_.eigengap:.3g}"),
        ("Class weight", str(model.class_weight or "none")),
        ("Shares of classes", "as estimated from the scan" if model.fitted_.smoothing.factors is not None
                              else "as among the labels"),
        ("Tiles", f"{result.tiles:,}"),
        ("Seconds", ", ".join(f"{stage} {spent:.1f}" for stage, spent in seconds.items())),
        ("System", f"{surroundings['system']}, {surroundings['processors']} processors, "
                   f"Python {surroundings['python']}"),
        ("Versions", ", ".join(f"{name} {number}" for name, number in surroundings["versions"].items())),
    ]  # fmt: skip
    return section("Choices that were made", definitions(facts))


def _shares(result: Result) -> np.ndarray:
    """Of the classes, by what the model has written."""
    shares: np.ndarray = result.counts / max(int(result.counts.sum()), 1)
    return shares


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
