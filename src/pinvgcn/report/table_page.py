"""The page about one table: what was read, what was predicted, and how far it can be trusted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.io.atomic import check_output, write_text
from pinvgcn.io.question_file import expected_wrong
from pinvgcn.report import figures
from pinvgcn.report import table_prose as prose
from pinvgcn.report.environment import environment
from pinvgcn.report.evaluation import Score
from pinvgcn.report.held_out import HeldOut
from pinvgcn.report.held_out_tables import FOLDS, estimate_notes
from pinvgcn.report.learned import learned_filters
from pinvgcn.report.page import cell, definitions, document, figure, section, table
from pinvgcn.tables.classify import Classified
from pinvgcn.tables.questions import RowQuestion
from pinvgcn.wording import counted, decimal, verb, words

SHOWN = 12  # classes in a confusion matrix
ROOM = 10  # characters of their names there
DRAWN = 20  # columns in the figure of what they are worth
QUESTIONS = 10  # that are shown
VALUES = 90  # characters of a row's cells there
MANY = 30  # columns, from which on they are listed on demand


def write_report(
    result: Classified,
    heldout: HeldOut | None,
    path: str | Path,
    *,
    out: Path | None = None,
    questions: Sequence[RowQuestion] = (),
    asked: Path | None = None,
    force: bool = False,
) -> None:
    """Write the page, whole or not at all; ``asked`` is the file that has all ``questions``."""
    path = check_output(path, force=force)
    started = time.perf_counter()
    write_text(path, html_report(result, heldout, out=out, questions=questions, asked=asked))
    result.seconds["report"] = time.perf_counter() - started


def html_report(
    result: Classified,
    heldout: HeldOut | None,
    *,
    out: Path | None = None,
    questions: Sequence[RowQuestion] = (),
    asked: Path | None = None,
) -> str:
    """The whole page; it needs no other file."""
    started = time.perf_counter()
    plan = result.plan
    surroundings = environment()
    version = surroundings["versions"]["pinvgcn"]
    body = [
        _header(result, heldout, version),
        _read(result, heldout),
        _classes(result, heldout),
        _trust(result, heldout),
        _why(result),
        _doubts(result, questions, asked),
        _map(result),
        _learned(result),
    ]
    drawing = time.perf_counter() - started  # all but the last section
    body.append(_choices(result, surroundings, out, drawing))
    title = f"{plan.target.name} in {plan.source.path.name}: pinvgcn report"
    return document(title, body, generator=f"pinvgcn {version}")


def _header(result: Classified, heldout: HeldOut | None, version: str) -> str:
    plan = result.plan
    to_predict = int(((plan.codes < 0) & (result.answers >= 0)).sum())
    alone = int((~plan.known).sum())
    cards = []
    if heldout is not None:
        ours, simple = heldout.ours, heldout.best_simple
        cards.append(
            prose.CARD.substitute(
                title="How well it works",
                number=_percent(ours.accuracy),
                text=f"of {ours.count:,} labels that were held out were found again: "
                f"{_interval(ours)} with 95 % confidence.",
                small=f"Best simple method: {escape(simple.title)}, {_percent(simple.accuracy)}.",
            )
        )
    cards.append(
        prose.CARD.substitute(
            title="Predicted",
            number=f"{to_predict:,}",
            text=f"rows that had no class, from {plan.labelled:,} that had one of "
            f"{len(plan.target.classes)} classes.",
            small=f"Rows without a prediction, because they share no value with another: {alone:,}.",
        )
    )
    return prose.HEADER.substitute(
        version=escape(version),
        target=escape(plan.target.name),
        file=escape(plan.source.path.name),
        labelled=f"{plan.labelled:,}",
        rows=f"{plan.rows:,}",
        what="the class of the others" if to_predict else "the class of each, though all had one",
        cards="\n".join(cards),
    )


def _read(result: Classified, heldout: HeldOut | None) -> str:
    plan = result.plan
    source = plan.source
    facts = [("File", str(source.path)), ("Format", source.format.upper())]
    if source.encoding:
        facts.append(("Text", f"{source.encoding.upper()}, separator {source.separator!r}"))
    facts += [
        ("Rows", f"{plan.rows:,}, of which {plan.labelled:,} have a class"),
        ("Columns", f"{len(plan.recipe.used)} used of {len(plan.recipe.plans)} beside the target"),
        ("Graph", f"{plan.distinct:,} rows that differ, {plan.hyperedges:,} shared values"),
    ]
    rows = [
        [
            cell(escape(c.name) + (f"<small>{escape(c.note)}</small>" if c.note else "")),
            cell(escape(c.kind)),
            cell(escape(c.becomes)),
            cell(f"{c.missing:,}" if c.missing else ""),
        ]
        for c in plan.recipe.plans
    ]
    columns = table(["Column", "Kind", "Becomes", "Missing"], rows, kind="dense words")
    if len(rows) > MANY:
        columns = f"<details><summary>All {len(rows)} columns</summary>{columns}</details>"
    return section(
        "What was read",
        definitions(facts),
        _list("Worth knowing:", [*result.notes, *estimate_notes(result, heldout)]),
        prose.COLUMNS,
        columns,
    )


def _classes(result: Classified, heldout: HeldOut | None) -> str:
    plan = result.plan
    names = plan.target.classes
    without = plan.codes < 0
    predicted = np.bincount(result.answers[without & (result.answers >= 0)], minlength=len(names))
    best = np.where(result.answers >= 0, np.nanmax(np.nan_to_num(result.proba, nan=-1.0), axis=1), np.nan)
    rows = []
    for j, name in enumerate(names):
        mine = without & (result.answers == j)
        sure = f"{np.mean(best[mine]):.2f}" if mine.any() else ""
        cells = [
            cell(escape(name)),
            cell(f"{plan.class_counts[j]:,}", bar=plan.class_counts[j] / plan.class_counts.max()),
            cell(f"{predicted[j]:,}", bar=predicted[j] / max(predicted.max(), 1)),
            cell(sure),
        ]
        if heldout is not None:
            for score in (heldout.ours, heldout.best_simple):
                share = score.recall[j]
                cells.append(cell("") if np.isnan(share) else cell(_percent(share), shade=float(share)))
        rows.append(cells)
    head = ["Class", "Labelled", "Predicted", "Mean probability"]
    if heldout is not None:
        head += ["Recall, PinvGCN", f"Recall, {heldout.best_simple.title.lower()}"]
    caption = (
        "Predicted: of rows that had no class. Recall: of the labels that were held out, the share found."
    )
    sizes = result.set_sizes
    sets = "" if sizes is None else f"<p>{escape(sizes.line())}</p>"
    return section("The classes", table(head, rows, caption), sets)


def _trust(result: Classified, heldout: HeldOut | None) -> str:
    names = result.plan.target.classes
    if heldout is None:
        return section("How well it works", prose.NOT_HELD_OUT)
    best = max(score.accuracy for score in heldout.scores)
    rows = [
        [
            cell(escape(score.title)),
            cell(_percent(score.accuracy), bar=score.accuracy),
            cell(_interval(score)),
            cell(f"{score.macro_f1:.3f}", bar=score.macro_f1),
            cell(_between(score.f1_interval)),
        ]
        for score in heldout.scores
    ]
    words = prose.HELD_OUT if heldout.folds > 1 else prose.ONE_PART
    parts = [
        words.substitute(folds=heldout.folds if heldout.folds > 1 else FOLDS),
        table(
            ["Method", "Accuracy", "95 % interval", "Macro F1", "95 % interval"],
            rows,
            best=[k for k, score in enumerate(heldout.scores) if score.accuracy == best],
        ),
    ]
    shown = np.sort(np.argsort(-heldout.ours.confusion.sum(axis=1), kind="stable")[:SHOWN])
    counts = heldout.ours.confusion[np.ix_(shown, shown)]
    caption = prose.CONFUSION
    if len(names) > SHOWN:
        caption += f" The {SHOWN} largest classes of {len(names)}."
    svg = figures.confusion(counts, tuple(_cut(names[j]) for j in shown), "table")
    side = 45 if len(shown) < 4 else 65 if len(shown) < 7 else 100
    parts.append(f'<div style="max-width: {side}%">{figure(svg, caption)}</div>')
    return section("How well it works", *parts)


def _why(result: Classified) -> str:
    experts = table(
        ["Expert", "Share"],
        [
            [cell(escape(words(name))), cell(_percent(share), bar=share)]
            for name, share in result.experts.items()
        ],
        prose.EXPERTS,
    )
    found = result.importance
    if found is None:
        return section("What decided", experts, prose.NO_WHY)
    clear = len(found.clear)
    told = (
        f"Of {counted(len(found.columns), 'column')}, {clear} {verb(clear, 'has', 'have')} an effect that "
        "can be told from none with so many labels."
        if clear
        else "With so many labels no column's effect can be told from none."
    )
    rows = [
        [
            cell(escape(column.column)),
            cell(f"{decimal(column.log_likelihood, 3)} ± {column.error:.3f}"),
            cell(f"{decimal(100 * column.accuracy, 1)} ± {100 * column.accuracy_spread:.1f} %"),
            cell("yes" if column.clear else "not distinguishable from none"),
        ]
        for column in found.columns
    ]
    head = ["Column", "Log-likelihood lost", "Accuracy lost", "Effect"]
    caption = (
        "Log-likelihood with its standard error over labels, accuracy with its deviation over permutations."
    )
    numbers = table(head, rows, caption, kind="dense")
    return section(
        "What decided",
        experts,
        prose.WHY.substitute(labels=f"{found.labels:,}", permutations=found.permutations, clear=told),
        figure(figures.importance(found.columns[:DRAWN]), prose.IMPORTANCE),
        f"<details><summary>All {counted(len(rows), 'column')} in numbers</summary>{numbers}</details>",
    )


def _doubts(result: Classified, questions: Sequence[RowQuestion], asked: Path | None) -> str:
    if not questions:
        return ""
    shown = questions[:QUESTIONS]
    several = len({question.file for question in questions}) > 1
    used = [plan.name for plan in result.plan.recipe.used]
    rows = [
        [
            cell(str(question.number)),
            cell(f"{escape(question.file)}, {question.row:,}" if several else f"{question.row:,}"),
            cell(f"<small>{escape(_values(question, used))}</small>"),
            cell(escape(question.predicted)),
            cell(_percent(question.confidence)),
            cell(f"{escape(question.runner_up)}, {_percent(question.runner_up_probability)}"),
            cell(f"{expected_wrong(question.wrong)} of {question.rows:,}"),
        ]
        for question in shown
    ]
    file = "" if asked is None else f"; all are in {escape(asked.name)}"
    return section(
        "Where it is unsure",
        prose.UNSURE,
        table(
            ["", "Row", "Its values", "Class", "Confidence", "Runner-up", "Expected to be wrong"],
            rows,
            f"The first {len(shown)} of {len(questions)} rows{file}. Expected to be wrong: of the rows "
            "without a class that have the same values.",
            kind="dense words",
        ),
    )


def _values(question: RowQuestion, used: Sequence[str]) -> str:
    """The first cells of a row, as far as there is room."""
    text = ", ".join(f"{name} {question.cells[name]}" for name in used if question.cells[name])
    return text if len(text) <= VALUES else text[: VALUES - 1] + "…"


def _map(result: Classified) -> str:
    plan, spectrum = result.plan, result.model.spectrum_
    if spectrum.rank < 2:
        return ""
    graph = result.model.graph_
    assert graph is not None
    places = np.asarray(spectrum.vectors[:, :2]) / np.sqrt(graph.degrees)[:, None]
    svg = figures.row_map(places, result.answers[plan.known], plan.codes[plan.known], plan.target.classes)
    return section("A map of the rows", figure(svg, prose.MAP))


def _learned(result: Classified) -> str:
    model = result.model
    series = [(result.plan.target.name, np.asarray(model.spectrum_.values), model.loss_curve_)]
    return section(
        "What the network learned",
        prose.FILTERS,
        figure(figures.filters(learned_filters(model), "table"), prose.FILTER_FIGURE),
        figure(figures.training(series), prose.TRAINING),
    )


def _choices(result: Classified, surroundings: dict[str, Any], out: Path | None, drawing: float) -> str:
    model, request = result.model, result.request
    seconds = {**result.seconds, "report": drawing}
    seconds["all"] = seconds.pop("all", sum(result.seconds.values())) + drawing
    binning = "equally many rows" if model.binning == "quantile" else "equal width"
    facts = [
        ("Numbers", f"up to {model.bins} bins of {binning}"),
        ("Missing values", "ignored"),
        ("Eigenvectors", f"{model.spectrum_.rank}, by the {model.spectrum_.solver} solver"),
        ("Epochs", f"{model.n_iter_}, learning rate {model.learning_rate:g}"),
        ("Class weight", request.class_weight or "none"),
        ("Seed", str(request.random_state)),
        ("Seconds", ", ".join(f"{stage} {spent:.1f}" for stage, spent in seconds.items())),
        ("System", f"{surroundings['system']}, Python {surroundings['python']}"),
        ("Versions", ", ".join(f"{name} {number}" for name, number in surroundings["versions"].items())),
    ]
    if out is not None:
        facts.insert(0, ("Written to", f"{out}: the table with {', '.join(result.columns)}"))
    return section("Choices and time", definitions(facts))


def _list(title: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<div class="soft"><p>{title}</p><ul>{items}</ul></div>' if lines else ""


def _cut(name: str) -> str:
    """A class's name, as far as there is room under a matrix."""
    return name if len(name) <= ROOM else name[: ROOM - 1] + "…"


def _between(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}"


def _interval(score: Score) -> str:
    low, high = score.interval
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
