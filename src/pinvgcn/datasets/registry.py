"""Every data set by its name."""

from __future__ import annotations

from collections.abc import Callable

from pinvgcn.checks import check_choice
from pinvgcn.datasets import aerial, covertype, mushroom, oakland, planetoid, street
from pinvgcn.datasets.dataset import Dataset, DatasetInfo

_REGISTRY: dict[str, tuple[DatasetInfo, Callable[[], Dataset]]] = {
    info.name: (info, load)
    for info, load in (
        (mushroom.INFO, mushroom.load_mushroom),
        (covertype.TYPES_45, covertype.load_covertype45),
        (covertype.TYPES_67, covertype.load_covertype67),
        (covertype.ALL, covertype.load_covertype),
        (oakland.OAKLAND1, oakland.load_oakland1),
        (oakland.OAKLAND2, oakland.load_oakland2),
        (aerial.IGN1, aerial.load_ign1),
        (aerial.IGN2, aerial.load_ign2),
        (aerial.LIDAR, aerial.load_lidar),
        (planetoid.CORA, planetoid.load_cora),
        (planetoid.CITESEER, planetoid.load_citeseer),
        (planetoid.PUBMED, planetoid.load_pubmed),
        (street.INFO, street.generate_street),
    )
}


def dataset_names() -> tuple[str, ...]:
    """The names that `load_dataset` knows."""
    return tuple(_REGISTRY)


def dataset_info(name: str) -> DatasetInfo:
    """What a data set is and where it comes from, without loading it."""
    return _REGISTRY[check_choice("name", name, _REGISTRY)][0]


def load_dataset(name: str) -> Dataset:
    """Load a data set: from the package, ``PINVGCN_DATA``, the cache, or its public source.

    The names: mushroom, covertype45, covertype67, covertype, oakland1, oakland2, ign1, ign2, lidar, cora,
    citeseer, pubmed, and street, which is generated. `pinvgcn.datasets.locate` says how files are found.
    """
    return _REGISTRY[check_choice("name", name, _REGISTRY)][1]()
