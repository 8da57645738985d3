"""The paper's data sets, a generated street, and splits of their labels.

::

    load_dataset("mushroom")             Dataset: X, y, target_names, and what is known about them
    dataset_names(), dataset_info(name)  what there is, without loading it
    random_split(y, per_class=10)        y with all but a few rows of each class unlabelled
    clicked_split(points, y)             the same with labels in a few places, as people click them
    planetoid_split(dataset)             the same with a citation network's standard training rows
    generate_street(n)                   a scan of a street with n points

One file a source: ``mushroom``, ``covertype``, ``oakland``, ``aerial``, ``planetoid``, ``street``.
``locate`` finds or downloads the files and checks their hashes.
"""

from pinvgcn.datasets.dataset import Dataset, DatasetInfo, Split
from pinvgcn.datasets.registry import dataset_info, dataset_names, load_dataset
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
