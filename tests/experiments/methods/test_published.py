"""Training as the published code has it, coordinates centred, and set-ups that two ways share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from pinvgcn.datasets import generate_street
from pinvgcn.experiments.methods.networks import OneAdam, apart, network
from pinvgcn.experiments.methods.pinvgcn import PinvMethod, pinv
from pinvgcn.experiments.reproduce.experiment import Entry, TaskSpec
from pinvgcn.experiments.reproduce.runner import Runs
from pinvgcn.experiments.reproduce.tables import OAKLAND
from pinvgcn.experiments.task import Shared, Task


@pytest.fixture(scope="module")
def scan() -> Task:
    street = generate_street(1_000)
    return Task("street", "Street", "points", street.X + 50, street.y, street.target_names, 5)


def test_each_optimizer_begins_with_the_moments_of_the_last() -> None:
    """Against a single Adam whose weight is set back by hand."""

    def steps(optimizer: torch.optim.Adam, weight: torch.Tensor, gradients: list[float]) -> None:
        for gradient in gradients:
            weight.grad = torch.tensor([gradient])
            optimizer.step()

    single = torch.zeros(1, requires_grad=True)
    adam = torch.optim.Adam([single], lr=0.1)
    steps(adam, single, [1.0, 2.0])
    with torch.no_grad():
        single.zero_()
    steps(adam, single, [-1.0])
    one = OneAdam()
    for gradients in ([1.0, 2.0], [-1.0]):
        weight = torch.zeros(1, requires_grad=True)
        with one():
            steps(torch.optim.Adam([weight], lr=0.1), weight, gradients)
    assert weight.item() == pytest.approx(single.item(), abs=1e-7)
    with one():  # it ends with the context
        pass
    fresh = torch.zeros(1, requires_grad=True)
    steps(torch.optim.Adam([fresh], lr=0.1), fresh, [-1.0])
    assert fresh.item() == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("kind", ["pinvgcn", "gcn"])
def test_the_first_run_differs_by_its_rate_and_later_ones_by_what_came_before(scan: Task, kind: str) -> None:
    short = replace(pinv(sigma=10.0, rank=5), settings={"sigma": 10.0, "rank": 5, "epochs": 20})
    method = short if kind == "pinvgcn" else replace(network("gcn", 5, 10.0), epochs=20)
    labels = scan.labels(0)

    def weights(answer: object) -> np.ndarray:
        model = answer.model  # type: ignore[attr-defined]
        parameters = model.network_.parameters() if isinstance(method, PinvMethod) else model.parameters()
        return np.concatenate([one.detach().numpy().ravel() for one in parameters])

    text, published = method.prepare(scan), apart(method, "published").prepare(scan)
    first, again = (weights(published.answer(labels, 0)) for _ in range(2))
    assert not np.allclose(first, weights(text.answer(labels, 0)))
    assert not np.allclose(first, again)
    anew = apart(method, "published").prepare(scan)
    np.testing.assert_array_equal(weights(anew.answer(labels, 0)), first)
    np.testing.assert_array_equal(weights(anew.answer(labels, 0)), again)


def test_centred_networks_do_not_know_where_the_cloud_lies(scan: Task) -> None:
    method = apart(replace(network("gcn", 5, 10.0), epochs=20), "text", "centred")
    far = replace(scan, X=scan.X + 1024.0)
    codes = [method.prepare(task).answer(scan.labels(0), 0).codes for task in (scan, far)]
    assert (codes[0] == codes[1]).mean() > 0.99
    rows = apart(pinv(sigma=10.0, rank=5), "text", "centred").prepare(scan).rows
    assert rows.settings.scaling == "centre"


def test_what_is_shared_is_made_once_and_its_seconds_are_remembered(scan: Task) -> None:
    task = replace(scan)
    assert task.shared is not scan.shared
    assert task.with_labels(7).shared is task.shared
    shared, made = Shared(), []

    def make() -> int:
        made.append(1)
        torch.ones(300, 300) @ torch.ones(300, 300)
        return 3

    assert [shared("a", make), shared("a", make)] == [3, 3]
    assert len(made) == 1
    assert 0 < shared.cpu < 1 and 0 < shared.wall < 5  # noqa: PT018


def test_four_ways_of_a_row_of_oakland() -> None:
    names = {entry.method.name for entry in OAKLAND.entries()}
    for name in ("gcn knn=10 sigma=10", "graphsage knn=100", "pinvgcn paper sigma=10 rank=30"):
        assert {f"{name}{way}" for way in ("", " centred", " published", " centred published")} <= names
    assert "logistic_regression published" not in names


def test_how_many_runs_are_asked() -> None:
    mushroom, cloud = TaskSpec("mushroom", 10), TaskSpec("oakland1", 100)
    row = pinv(sigma=100.0, rank=30)
    asked = {
        100: Entry(mushroom, pinv()),
        30: Entry(cloud, apart(row, "published", "centred")),
        20: Entry(cloud, network("gcn", 10, 10.0)),
        10: Entry(cloud, apart(row, "published")),
        5: Entry(cloud, network("gcn", 100, 10.0)),
    }
    assert [entry.asked for entry in asked.values()] == list(asked)
    assert Entry(cloud, pinv(sigma=100.0, rank=35)).asked == 5


def test_what_one_adam_goes_through_again_is_counted() -> None:
    way = Entry(TaskSpec("oakland1", 100), pinv(sigma=100.0, rank=30))
    assert Runs(way, (5, 6)).trainings == 2
    assert Runs(way.apart("published", "centred"), (5, 6)).trainings == 7
