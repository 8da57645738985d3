"""Every table and figure, by the word that ``pinvgcn reproduce`` knows it by."""

from __future__ import annotations

from collections.abc import Collection

from pinvgcn.checks import check_choice
from pinvgcn.experiments.reproduce.citation import CITATION
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment, distinct
from pinvgcn.experiments.reproduce.hypergraphs import HYPERGRAPHS
from pinvgcn.experiments.reproduce.oakland import OAKLAND
from pinvgcn.experiments.reproduce.rank import RANK
from pinvgcn.experiments.reproduce.regularization import REGULARIZATION
from pinvgcn.experiments.reproduce.split_size import SPLIT_SIZE
from pinvgcn.experiments.reproduce.weights import WEIGHTS

ALL = "all"
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (OAKLAND, HYPERGRAPHS, SPLIT_SIZE, CITATION, REGULARIZATION, RANK, WEIGHTS)
}


def chosen_experiments(name: str) -> list[Experiment]:
    """One experiment, or all of them in the paper's order."""
    check_choice("experiment", name, (*EXPERIMENTS, ALL))
    return list(EXPERIMENTS.values()) if name == ALL else [EXPERIMENTS[name]]


def chosen_entries(experiments: Collection[Experiment], families: Collection[str] | None) -> list[Entry]:
    """The work of some experiments, each entry once; only these methods, or all where that is None."""
    entries = distinct(entry for experiment in experiments for entry in experiment.entries())
    if families is None:
        return entries
    known = list(dict.fromkeys(entry.family for entry in entries))
    name = next(iter(experiments)).name if len(experiments) == 1 else ALL
    for family in families:
        check_choice(f"methods of {name}", family, known)
    return [entry for entry in entries if entry.family in families]
