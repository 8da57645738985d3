"""The paper's data sets, a generated street, and splits of their labels.

::

    load_dataset("mushroom")             Dataset: X, y, target_names, and what is known about them
    dataset_names(), dataset_info(name)  what there is, without loading it
    random_split(y, per_class=10)        y with all but a few rows of each class unlabelled
    clicked_split(points, y)             the same with labels in a few places, as people click them
    planetoid_split(dataset)             the same with a citation network's standard training rows
    generate_street(n)                   a scan of a street with n points

The sources: tables in ``uci``, laser scans in ``scans``, citation networks in ``planetoid``, and ``street``.
``locate`` finds or downloads the files and checks their hashes.
"""

from __future__ import annotations

from collections.abc import Callable

from pinvgcn.checks import check_choice
from pinvgcn.datasets import planetoid, scans, street, uci
from pinvgcn.datasets.dataset import Dataset, DatasetInfo, Split
from pinvgcn.datasets.splits import clicked_split, planetoid_split, random_split
from pinvgcn.datasets.street import generate_street

__all__ = [
    "Dataset",
    "DatasetInfo",
    "Split",
    "clicked_split",
    "dataset_info",
    "dataset_names",
    "generate_street",
    "load_dataset",
    "planetoid_split",
    "random_split",
]

_LOADERS: dict[DatasetInfo, Callable[[], Dataset]] = {
    **uci.LOADERS, **scans.LOADERS, **planetoid.LOADERS, street.INFO: generate_street
}  # fmt: skip
_INFOS = {info.name: info for info in _LOADERS}


def dataset_names() -> tuple[str, ...]:
    return tuple(_INFOS)


def dataset_info(name: str) -> DatasetInfo:
    """What a data set is and where it comes from, without loading it."""
    return _INFOS[check_choice("name", name, _INFOS)]


def load_dataset(name: str) -> Dataset:
    """Load a data set: from the package, ``PINVGCN_DATA``, the cache, or its public source.

    The names: mushroom, covertype45, covertype67, covertype, oakland1, oakland2, ign1, ign2, lidar, cora,
    citeseer, pubmed, and street, which is generated. `pinvgcn.datasets.locate` says how files are found.
    """
    return _LOADERS[dataset_info(name)]()
