"""Training against Adam and the cross entropy, written out by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from pinvgcn.errors import ParameterError, TrainingError, TrainingWarning
from pinvgcn.nn import Basis, Labels, PinvGCN, Problem, TrainingSettings
from pinvgcn.nn import train as train_on_problem
from pinvgcn.nn.dropout import DropoutKey, keep_mask
from pinvgcn.nn.sampling import ALL_NODES, SOME_NODES, Sample, resolve_sample
from pinvgcn.nn.training import CHECK_EVERY

ROWS = torch.tensor([0, 5, 11, 30])
TARGETS = torch.tensor([0, 1, 2, 1])


def network(case, *, dropout=0.0, seed=0, inputs=3) -> PinvGCN:
    return PinvGCN(
        case.spectrum, inputs, 3, hidden=5, dropout=dropout, generator=torch.Generator().manual_seed(seed)
    )


def features(case) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=(case.n, 3)))


def train(net, X, rows, targets, settings, *, weights=None, **options) -> list[float]:
    """From features and labels as they come."""
    basis = Basis(net.V.double().numpy())
    problem = Problem.of(basis, X.numpy(), net.filter_basis, like=net.convs[0].bias.detach())
    labels = Labels.of(rows, targets, 3, weights)
    return train_on_problem(net, problem, labels, settings, **options)


def cross_entropy(scores: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Σ_i w_i (−log p_i[y_i]) / Σ_i w_i"""
    w = torch.ones(len(TARGETS)) if weights is None else weights
    p = torch.exp(scores) / torch.exp(scores).sum(dim=1, keepdim=True)
    return -(w * torch.log(p[torch.arange(len(TARGETS)), TARGETS])).sum() / w.sum()


def hand_adam(
    net: PinvGCN, X: torch.Tensor, steps: int, rate: float, decay: float, weights=None
) -> list[float]:
    """Kingma and Ba's algorithm 1; the decay is added to the gradient of weights, not of biases."""
    state = {name: [torch.zeros_like(p), torch.zeros_like(p)] for name, p in net.named_parameters()}
    losses = []
    for t in range(1, steps + 1):
        loss = cross_entropy(net(X)[ROWS], weights)
        losses.append(float(loss.detach()))
        named = dict(net.named_parameters())
        gradients = torch.autograd.grad(loss, list(named.values()))
        with torch.no_grad():
            for (name, p), g in zip(named.items(), gradients, strict=True):
                if name.endswith("weights"):
                    g = g + decay * p
                m, v = state[name]
                m.mul_(0.9).add_(0.1 * g)
                v.mul_(0.999).add_(0.001 * g**2)
                p -= rate * (m / (1 - 0.9**t)) / (torch.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return losses


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("weights", [None, torch.tensor([1.0, 0.25, 4.0, 2.0], dtype=torch.float64)], ids=str)
def test_steps_are_those_of_adam_with_decay_on_weights_only(gaussian, steps, weights):
    X = features(gaussian)
    trained, by_hand = network(gaussian), network(gaussian)
    settings = TrainingSettings(learning_rate=0.03, weight_decay=0.2, epochs=steps)
    losses = train(trained, X, ROWS, TARGETS, settings, weights=weights)
    expected = hand_adam(by_hand, X, steps, 0.03, 0.2, weights)
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    for (name, got), (_, wanted) in zip(trained.named_parameters(), by_hand.named_parameters(), strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-9, msg=name)


@pytest.mark.usefixtures("double")
def test_the_first_step_moves_every_entry_by_the_learning_rate(gaussian):
    """Adam's first step is rate · sign(gradient): with the decay in the gradient of weights alone."""
    X = features(gaussian)
    net = network(gaussian)
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    gradients = torch.autograd.grad(cross_entropy(net(X)[ROWS]), list(net.parameters()))
    train(net, X, ROWS, TARGETS, TrainingSettings(learning_rate=0.01, weight_decay=50.0, epochs=1))
    for (name, p), g in zip(net.named_parameters(), gradients, strict=True):
        if name.endswith("weights"):
            g = g + 50 * before[name]
        clear = g.abs() > 1e-4
        moved = (p.detach() - before[name])[clear]
        torch.testing.assert_close(moved, -0.01 * torch.sign(g[clear]), rtol=1e-3, atol=0)


@pytest.mark.usefixtures("double")
def test_equal_weights_are_no_weights(gaussian):
    X, settings = features(gaussian), TrainingSettings(epochs=20)
    plain = train(network(gaussian), X, ROWS, TARGETS, settings)
    weighted = train(network(gaussian), X, ROWS, TARGETS, settings, weights=torch.full((4,), 7.5))
    np.testing.assert_allclose(plain, weighted, rtol=1e-9)


@pytest.mark.usefixtures("double")
def test_whole_weights_repeat_rows(gaussian):
    X, settings = features(gaussian), TrainingSettings(epochs=20)
    repeats = torch.tensor([1, 3, 2, 1])
    repeated = train(
        network(gaussian), X, ROWS.repeat_interleave(repeats), TARGETS.repeat_interleave(repeats), settings
    )
    weighted = train(network(gaussian), X, ROWS, TARGETS, settings, weights=repeats.double())
    np.testing.assert_allclose(repeated, weighted, rtol=1e-9)


@pytest.mark.usefixtures("double")
def test_the_loss_of_an_epoch_has_that_epochs_mask(gaussian):
    """Two epochs at a learning rate too small to move anything: only the masks differ."""
    X = features(gaussian)
    net = network(gaussian, dropout=0.4)
    settings = TrainingSettings(learning_rate=1e-300, weight_decay=0.0, epochs=2)
    losses = train(net, X, ROWS, TARGETS, settings, seed=13)
    first, second = net.convs
    hidden = torch.relu(first(X, net.V))
    for epoch, loss in enumerate(losses):
        mask = keep_mask(torch.arange(gaussian.n), 5, 0.4, DropoutKey(13, epoch, 1))
        scores = second(hidden * mask / 0.6, net.V)[ROWS]
        assert loss == pytest.approx(float(cross_entropy(scores).detach()), rel=1e-10)
    assert losses[0] != losses[1]


def test_training_depends_on_its_seed_alone(gaussian):
    X, settings = features(gaussian), TrainingSettings(epochs=10)
    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = train(network(gaussian, dropout=0.5), X, ROWS, TARGETS, settings, seed=3)
    assert torch.equal(states[0], torch.get_rng_state())
    np.testing.assert_array_equal(states[1], np.random.get_state()[1])  # noqa: NPY002
    torch.rand(5)
    assert first == train(network(gaussian, dropout=0.5), X, ROWS, TARGETS, settings, seed=3)
    assert first != train(network(gaussian, dropout=0.5), X, ROWS, TARGETS, settings, seed=4)


def test_the_loss_falls_and_the_labels_are_learned(gaussian):
    net = network(gaussian, dropout=0.5)
    told = []
    losses = train(
        net,
        features(gaussian),
        ROWS,
        TARGETS,
        TrainingSettings(epochs=200),
        on_epoch=lambda epoch, loss: told.append((epoch, loss)),
    )
    assert np.mean(losses[-10:]) < 0.2 * losses[0]
    assert told == list(enumerate(losses))
    assert not net.training
    assert torch.equal(net(features(gaussian), ROWS).argmax(dim=1), TARGETS)


def test_a_loss_that_is_not_finite_names_the_epoch(gaussian):
    X = features(gaussian)
    with pytest.raises(
        TrainingError, match=r"The loss became (nan|inf) in epoch 1 of 9\. Lower learning_rate"
    ):
        train(network(gaussian), X * 1e200, ROWS, TARGETS, TrainingSettings(epochs=9))
    settings = TrainingSettings(learning_rate=1e25, epochs=9)
    with pytest.raises(
        TrainingError, match=r"The loss became (nan|inf) in epoch 2 of 9\. .*\(now 1e\+25\)"
    ) as e:
        train(network(gaussian), X, ROWS, TARGETS, settings)
    assert "\n" not in str(e.value)
    assert isinstance(e.value, RuntimeError)


class TestEndings:
    def test_an_interrupt_keeps_the_weights_so_far(self, gaussian):
        def stop(epoch: int, loss: float) -> None:
            if epoch == 4:
                raise KeyboardInterrupt

        X = features(gaussian)
        stopped, short = network(gaussian, dropout=0.5), network(gaussian, dropout=0.5)
        said = r"interrupted after 5 of 100 epochs: the model is that of the last epoch\.$"
        with pytest.warns(TrainingWarning, match=said):
            losses = train(stopped, X, ROWS, TARGETS, TrainingSettings(epochs=100), on_epoch=stop)
        assert losses == train(short, X, ROWS, TARGETS, TrainingSettings(epochs=5))
        for a, b in zip(stopped.parameters(), short.parameters(), strict=True):
            assert torch.equal(a, b)
        assert not stopped.training

    @pytest.mark.usefixtures("double")
    def test_an_interrupt_keeps_the_best_at_held_out_labels(self, gaussian):
        """The loss there rises from some check on: the weights of that check come back."""

        def stop(epoch: int, loss: float) -> None:
            if epoch == 134:
                raise KeyboardInterrupt

        X = features(gaussian)
        held_out = Labels.of(torch.tensor([1, 5]), torch.tensor([0, 2]), 3)
        settings = TrainingSettings(learning_rate=0.05, epochs=400, patience=400)
        net = network(gaussian, seed=3)
        with pytest.warns(TrainingWarning, match="after 135 of 400 epochs: .* the best at the held") as said:
            train(net, X, ROWS, TARGETS, settings, held_out=held_out, on_epoch=stop)
        best = int(str(said[0].message).split("that of epoch ")[1].split(",")[0])
        assert best < 130
        short = network(gaussian, seed=3)
        train(short, X, ROWS, TARGETS, TrainingSettings(learning_rate=0.05, epochs=best))
        for a, b in zip(net.parameters(), short.parameters(), strict=True):
            assert torch.equal(a, b)

    def test_an_interrupt_before_the_first_epoch_goes_on(self, gaussian, monkeypatch):
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Labels, "loss", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(network(gaussian), features(gaussian), ROWS, TARGETS, TrainingSettings(epochs=5))

    @pytest.mark.usefixtures("double")
    def test_patience_keeps_the_weights_that_were_best_at_held_out_labels(self, gaussian):
        """The held-out labels contradict the others: their loss soon rises."""
        X = features(gaussian)
        held_out = Labels.of(torch.tensor([1, 5]), torch.tensor([0, 2]), 3)
        settings = TrainingSettings(learning_rate=0.05, epochs=400, patience=40)
        net = network(gaussian, seed=3)
        losses = train(net, X, ROWS, TARGETS, settings, held_out=held_out)
        assert 40 < len(losses) < 400
        assert len(losses) % CHECK_EVERY == 0
        best = len(losses) - 40
        again = network(gaussian, seed=3)
        train(again, X, ROWS, TARGETS, TrainingSettings(learning_rate=0.05, epochs=best))
        for a, b in zip(net.parameters(), again.parameters(), strict=True):
            assert torch.equal(a, b)
        for epochs in range(CHECK_EVERY, len(losses), CHECK_EVERY):  # brute force: no check saw a lower loss
            other = network(gaussian, seed=3)
            train(other, X, ROWS, TARGETS, TrainingSettings(learning_rate=0.05, epochs=epochs))
            seen = held_out.loss(other(X, held_out.nodes)) - held_out.loss(net(X, held_out.nodes))
            assert float(seen.detach()) >= -1e-10


class TestSample:
    @pytest.mark.usefixtures("double")
    def test_as_many_as_there_are_is_all(self, gaussian):
        X = features(gaussian)
        exact, asked, auto = (
            train(
                network(gaussian, dropout=0.5),
                X,
                ROWS,
                TARGETS,
                TrainingSettings(epochs=5, nodes_per_epoch=s),
            )
            for s in (None, gaussian.n - len(ROWS), "auto")
        )
        assert exact == asked == auto

    @staticmethod
    def problem(case, places=None) -> Problem:
        net = network(case)
        like = net.convs[0].bias.detach()
        basis, X = Basis(case.spectrum.basis), features(case).numpy()
        return Problem.of(basis, X, net.filter_basis, like=like, places=places)

    def test_every_node_comes_once_in_a_lap(self, gaussian):
        problem = self.problem(gaussian)
        others = sorted(set(range(gaussian.n)) - set(ROWS.tolist()))  # 36 of them
        sample = Sample(problem, ROWS, 6, seed=1)
        laps = []
        for lap in range(3):
            epochs = [sample(epoch) for epoch in range(6 * lap, 6 * lap + 6)]
            for drawn in epochs:
                assert drawn.ids[:4].tolist() == ROWS.tolist()
                np.testing.assert_allclose(drawn.weights, [1] * 4 + [6] * 6)
            laps.append([node for drawn in epochs for node in drawn.ids[4:].tolist()])
            assert sorted(laps[-1]) == others
        assert laps[0] != laps[1] != laps[2]
        # any epoch by itself, in any order
        fresh = Sample(problem, ROWS, 6, seed=1)
        assert fresh(13).ids.tolist()[4:] == laps[2][6:12]
        assert fresh(2).ids.tolist()[4:] == laps[0][12:18]
        assert Sample(problem, ROWS, 6, seed=2)(2).ids.tolist() != fresh(2).ids.tolist()

    @pytest.mark.parametrize("size", [5, 8, 13, 20, 35])
    def test_no_node_comes_again_before_the_others_of_its_group(self, gaussian, size):
        """36 nodes in groups whose sizes differ: each has laps of its own length."""
        sample = Sample(self.problem(gaussian), ROWS, size, seed=3)
        epochs = [sample(epoch) for epoch in range(4 * (36 // size + 1) * (36 // size))]
        for group, m in enumerate(epochs[0].weights[4:].int().tolist()):
            drawn = [epoch.ids[4 + group].item() for epoch in epochs]
            laps = [drawn[start : start + m] for start in range(0, len(drawn) - m + 1, m)]
            assert all(len(set(lap)) == m for lap in laps)
            assert len(set(drawn)) == m

    def test_one_node_of_each_group_of_neighbours(self, gaussian):
        """36 nodes on a line, in groups of 5 and 4: each draw has one of each group, as often as its size."""
        line = np.random.default_rng(0).permutation(gaussian.n)
        problem = self.problem(gaussian, places=line[:, None].astype(float))
        others = [node for node in np.argsort(line) if node not in ROWS]
        bounds = [0, 4, 9, 13, 18, 22, 27, 31, 36]
        groups = [others[a:b] for a, b in itertools.pairwise(bounds)]
        sample = Sample(problem, ROWS, 8, seed=5)
        seen = np.zeros(gaussian.n)
        for epoch in range(4 * 300):
            drawn = sample(epoch)
            assert all(node in group for node, group in zip(drawn.ids[4:].tolist(), groups, strict=True))
            assert drawn.weights.tolist() == [1.0] * 4 + [float(len(group)) for group in groups]
            seen[drawn.ids] += 1
        for group in groups:  # unbiased: all nodes of a group alike, within six standard deviations
            share = 1 / len(group)
            assert np.abs(seen[group] / 1200 - share).max() < 6 * np.sqrt(share * (1 - share) / 300)

    def test_a_spread_sample_misses_less_of_a_smooth_sum(self, gaussian):
        """Σ x over a line: groups of neighbours leave an error far below that of nodes drawn anywhere."""
        x = np.random.default_rng(1).permutation(gaussian.n).astype(float)
        errors = []
        for places in (x[:, None], None):
            sample = Sample(self.problem(gaussian, places=places), ROWS, 6, seed=0)
            sums = [float(drawn.weights.numpy() @ x[drawn.ids]) for drawn in map(sample, range(600))]
            assert np.mean(sums) == pytest.approx(x.sum(), rel=0.01)
            errors.append(np.std(sums))
        assert errors[0] < 0.3 * errors[1]

    def test_auto(self):
        assert resolve_sample("auto", ALL_NODES) is None
        assert resolve_sample("auto", ALL_NODES + 1) == SOME_NODES
        assert resolve_sample(None, 10**9) is None
        assert resolve_sample(50, 51) == 50
        assert resolve_sample(50, 50) is None

    def test_what_is_drawn_has_no_dropout_at_the_nodes_that_stand_for_others(self, gaussian):
        """At a learning rate too small to move anything: the loss of each epoch, from its formula."""
        X, net = features(gaussian), network(gaussian, dropout=0.4)
        settings = TrainingSettings(learning_rate=1e-30, weight_decay=0.0, epochs=3, nodes_per_epoch=9)
        losses = train(net, X, ROWS, TARGETS, settings, seed=13)
        sample = Sample(self.problem(gaussian), ROWS, 9, seed=13)
        first, second = net.convs
        hidden = torch.relu(first(X.float(), net.V))
        for epoch, loss in enumerate(losses):
            drawn = sample(epoch)
            H, V = hidden[drawn.ids], net.V[drawn.ids]
            H[:4] *= keep_mask(ROWS, 5, 0.4, DropoutKey(13, epoch, 1)) / 0.6
            scores = second(H[:4], V[:4], V.T @ (drawn.weights[:, None] * H))
            assert loss == pytest.approx(float(cross_entropy(scores).detach()), rel=1e-4)

    def test_labels_are_learned_from_samples(self, gaussian):
        net = network(gaussian, dropout=0.5)
        settings = TrainingSettings(epochs=300, nodes_per_epoch=12)
        losses = train(net, features(gaussian), ROWS, TARGETS, settings)
        assert np.mean(losses[-10:]) < 0.2 * losses[0]
        assert torch.equal(net(features(gaussian), ROWS).argmax(dim=1), TARGETS)


def test_threads_are_put_back(gaussian):
    before = torch.get_num_threads()
    train(network(gaussian), features(gaussian), ROWS, TARGETS, TrainingSettings(epochs=2), threads=2)
    with pytest.raises(TrainingError):
        train(network(gaussian), features(gaussian) * 1e200, ROWS, TARGETS, TrainingSettings(epochs=9))
    assert torch.get_num_threads() == before


@pytest.mark.usefixtures("double")
def test_labels_that_disagree_count_each(gaussian):
    """Three labels at one node, two of them equal: the loss is the mean of the three."""
    scores = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 3)))
    labels = Labels.of(torch.tensor([7, 2, 7, 7]), torch.tensor([0, 1, 2, 0]), 3)
    assert labels.nodes.tolist() == [2, 7]
    p = torch.log(torch.exp(scores) / torch.exp(scores).sum(dim=1, keepdim=True))
    expected = -(p[1, 0] + p[0, 1] + p[1, 2] + p[1, 0]) / 4
    torch.testing.assert_close(labels.loss(scores), expected)


def test_the_defaults_are_the_papers():
    assert TrainingSettings() == TrainingSettings(
        learning_rate=0.01, weight_decay=0.0005, epochs=500, nodes_per_epoch=None, patience=None
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 0}, "learning_rate must be a positive, finite number. Got 0 instead."),
        ({"learning_rate": -0.01}, "learning_rate must be a positive, finite number. Got -0.01 instead."),
        (
            {"learning_rate": float("inf")},
            "learning_rate must be a positive, finite number. Got inf instead.",
        ),
        ({"weight_decay": -1}, "weight_decay must be a finite number, zero or more. Got -1 instead."),
        ({"epochs": 0}, "epochs must be a whole number, 1 or more. Got 0 instead."),
        ({"epochs": 10.0}, "epochs must be a whole number, 1 or more. Got 10.0 instead."),
        (
            {"nodes_per_epoch": "some"},
            "nodes_per_epoch must be a whole number, 'auto' or None. Got 'some' instead.",
        ),
        ({"nodes_per_epoch": 0}, "nodes_per_epoch must be a whole number, 1 or more. Got 0 instead."),
        ({"patience": 0}, "patience must be a whole number, 1 or more. Got 0 instead."),
    ],
    ids=str,
)
def test_bad_settings(options, message):
    with pytest.raises(ParameterError) as caught:
        TrainingSettings(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize("columns", [1, 40])  # products of the first layer, and its factors
def test_a_problem_is_for_networks_with_its_filters(gaussian, components, columns):
    """Whose first layer would otherwise train with the problem's, and answer with its own."""
    X, labels = np.ones((gaussian.n, columns)), Labels.of(ROWS, TARGETS, 3)
    net = network(gaussian, inputs=columns)
    problem = Problem.of(Basis(gaussian.spectrum.basis), X, net.filter_basis, like=net.convs[0].bias.detach())
    fixed = {"filters": (1, 1, 0)}, {"filters": "no-high-pass"}, {}
    spectra = gaussian.spectrum, gaussian.spectrum, components.spectrum
    settings = TrainingSettings(epochs=1)
    for spectrum, options in zip(spectra, fixed, strict=True):
        with pytest.raises(
            ParameterError, match=r"network must have the spectrum and the filters .* zero imp"
        ):
            train_on_problem(PinvGCN(spectrum, columns, 3, **options), problem, labels, settings)
    other = PinvGCN(replace(gaussian.spectrum, values=1.001 * gaussian.spectrum.values), columns, 3)
    with pytest.raises(ParameterError, match="Got others instead"):
        train_on_problem(other, problem, labels, settings)
    assert len(train_on_problem(net, problem, labels, settings)) == 1
