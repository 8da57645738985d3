"""What leaves the page, beside the scan and under fixed names: labels, the classified scan, a model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pinvgcn.app.label_table import label_csv
from pinvgcn.app.session import Session
from pinvgcn.io import ScanSource
from pinvgcn.io.atomic import atomic_file, write_text


def exports_of(source: ScanSource, session: Session) -> dict[str, Callable[[], str]]:
    """The buttons of the page."""
    return {
        "Labels as CSV": lambda: f"Written: {write_labels(source, session)}",
        "Classify the whole scan": lambda: classify(source, session),
    }


def write_labels(source: ScanSource, session: Session) -> Path:
    """One line a labelled point; returns the path."""
    points, numbers = session.labels()
    text = label_csv(source, session.cloud.points, points, numbers, session.view.classes)
    path = _beside(source.path, ".labels.csv")
    write_text(path, text)
    return path


def classify(source: ScanSource, session: Session) -> str:
    """The whole scan with classes and confidence, and a model for ``pinvgcn predict``; says where. They are
    those of the refined answer that the page shows, or will show when it is done."""
    labels = write_labels(source, session)
    refined = session.refined()
    out = _beside(source.path, f".classified{source.path.suffix}")
    model = _beside(source.path, ".model.safetensors")
    for made, path in ((refined.scan, out), (refined.model, model)):
        with atomic_file(path) as part:
            shutil.copyfile(made, part)
    return f"{source.count:,} points written: {out.name}; the model: {model.name}; labels: {labels.name}"


def _beside(scan: Path, ending: str) -> Path:
    return scan.with_name(scan.name + ending)
