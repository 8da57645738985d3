"""The page of ``pinvgcn segment --report``: what was read, what came out, and how far it can be trusted."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from pinvgcn.io.atomic import write_text
from pinvgcn.io.las import class_name
from pinvgcn.jobs import Progress, silent
from pinvgcn.report import figures
from pinvgcn.report.held_out import OURS, SCAN_FOLDS, HeldOut, held_out_of_scan
from pinvgcn.report.learned import learned_filters
from pinvgcn.report.page import render
from pinvgcn.scans import ScanResult
from pinvgcn.scans.labels import name_of

SHOWN = 10  # places where a label would help


def write_scan_report(
    result: ScanResult, path: Path, *, random_state: int = 0, tell: Progress = silent
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
    tell("Holding out labels", SCAN_FOLDS, SCAN_FOLDS)
    result.seconds["holding out labels"] = time.perf_counter() - started
    tell("Drawing the report", 0, 1)
    started = time.perf_counter()
    write_text(path, scan_page(result, heldout))
    result.seconds["report"] = time.perf_counter() - started
    return heldout


def scan_page(result: ScanResult, heldout: HeldOut | None) -> str:
    assert result.sample is not None
    started = time.perf_counter()
    prior = result.counts / max(int(result.counts.sum()), 1)
    names = [name_of(value, asprs=result.asprs) for value in result.classes]
    recall = np.full(len(names), np.nan) if heldout is None else heldout.ours.recall
    drawn = _figures(result, heldout)
    return render(
        "segment.html",
        result=result,
        heldout=heldout,
        prior=prior,
        classes=list(zip(names, result.given, result.counts, prior, recall, strict=True)),
        shown=len(result.sample.points),
        places=result.questions[:SHOWN],
        figures=drawn,
        stages={**result.seconds, "report": time.perf_counter() - started},
    )


def _figures(result: ScanResult, heldout: HeldOut | None) -> dict[str, str]:
    assert result.sample is not None
    model = result.model
    names = tuple(class_name(c) if result.asprs and isinstance(c, int) else str(c) for c in result.classes)
    found = {
        "views": figures.views(result.sample.points, model.transduction_proba_.argmax(axis=1), names),
        "filters": figures.filters(learned_filters(model), "scan"),
        "training": figures.training([("Scan", np.asarray(model.spectrum_.values), model.loss_curve_)]),
    }
    if result.confidence_map is not None:
        places = [(one.x, one.y) for one in result.questions[:SHOWN]]
        found["plan"] = figures.plan(result.confidence_map, places)
    if heldout is not None:
        broken = tuple(name.replace(" ", "\n") for name in names)
        found["confusion"] = figures.confusion(heldout.ours.confusion, broken, "scan")
    return found
