"""Networks that are trained side by side: interrupts and errors."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from pinvgcn import PinvGCNClassifier
from pinvgcn.errors import TrainingWarning
from pinvgcn.experts.spectral import TrainedNetwork, side_by_side
from pinvgcn.nn import train

X, TRUTH = make_blobs(90, centers=3, cluster_std=2.0, random_state=1, n_features=2)
FEW = np.where(np.arange(90) % 3 == 0, TRUTH, -1)


def quick(**settings) -> PinvGCNClassifier:
    return PinvGCNClassifier(**{"members": 3, "epochs": 30, "rank": 6, "sigma": 6.0, **settings})


def test_an_interrupt_ends_all_of_them(monkeypatch, interrupts):
    """A real signal, once training has begun: it reaches the main thread, which waits for the others."""
    begun = threading.Lock()

    def interrupted(*args, **settings):
        if begun.acquire(blocking=False):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        return train(*args, **settings)

    monkeypatch.setattr("pinvgcn.fitting.members.train", interrupted)
    with pytest.warns(TrainingWarning, match="interrupted after"):
        model = quick(epochs=1_000_000).fit(X, FEW)
    assert 0 < model.n_iter_ < 1_000_000
    assert model.transduction_.shape == (90,)


def test_an_error_in_one_ends_the_others():
    ended = []

    def learn(number: int, stop: threading.Event | None) -> TrainedNetwork:
        assert stop is not None
        if number == 0:
            raise ValueError("no")
        ended.append(stop.wait(20))
        raise KeyboardInterrupt

    with pytest.raises(ValueError, match="no"):
        side_by_side(learn, 2, 2)
    assert ended == [True]
