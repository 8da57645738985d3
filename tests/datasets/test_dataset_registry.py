"""Names, descriptions and the value that loading returns."""

from __future__ import annotations

import dataclasses

import pytest

import pinvgcn.datasets
from pinvgcn.datasets import dataset_info, dataset_names, load_dataset
from pinvgcn.errors import ParameterError


def test_the_names_of_the_design_are_there():
    names = (
        "mushroom covertype45 covertype67 covertype oakland1 oakland2 ign1 ign2 lidar cora citeseer pubmed"
    )
    assert set(dataset_names()) == {*names.split(), "street"}


@pytest.mark.parametrize("name", dataset_names())
def test_every_data_set_describes_itself_without_being_loaded(bare, name):
    info = dataset_info(name)
    assert info.name == name
    for text in (info.description, info.source, info.licence):
        assert text
        assert "\n" not in text
    assert info.available == (name in ("mushroom", "ign1", "ign2", "street"))


@pytest.mark.parametrize("name", [name for name in dataset_names() if "covertype" not in name])
def test_the_listed_sizes_are_true(data_set, name):
    data = data_set(name)
    assert (data.info.rows, data.info.classes) == (len(data.y), len(data.target_names))


@pytest.mark.parametrize("name", ["nosuch", "", None, 3, "Cora"])
def test_an_unknown_name_is_answered_with_the_known_ones(name):
    for function in (load_dataset, dataset_info):
        with pytest.raises(ParameterError, match="name must be one of 'mushroom', 'covertype45'"):
            function(name)


def test_a_data_set_is_readable_and_frozen():
    data = load_dataset("mushroom")
    assert repr(data) == "Dataset('mushroom': 8,124 rows × 21 columns; edible 4,208, poisonous 3,916)"
    for field in ("name", "description", "source", "licence"):
        assert getattr(data, field) == getattr(data.info, field)
    assert data.adjacency is None
    assert data.split is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.y = None


def test_a_network_shows_its_edges(data_set):
    assert "2,708 rows × 1,433 columns, 5,278 edges; theory 351, " in repr(data_set("cora"))


def test_the_listed_names_are_importable():
    assert all(hasattr(pinvgcn.datasets, name) for name in pinvgcn.datasets.__all__)
