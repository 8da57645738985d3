"""Saved without pickle: the same bits, and clear words about files that cannot be used."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open

from pinvgcn import GaussianEigenmap, HypergraphEigenmap, PinvGCNClassifier
from pinvgcn.errors import ModelFileError, ParameterError

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(1_500, 3))
TABLE = pd.DataFrame({"kind": RNG.choice(list("abcd"), 80), "size": RNG.random(80)})
CASES = {
    "dense": (GaussianEigenmap(4), POINTS[:300], POINTS[:50] + 0.1),
    "fourier": (GaussianEigenmap(4, sigma=2.5, solver="fourier"), POINTS, POINTS[:50] + 0.1),
    "taylor": (GaussianEigenmap(4, sigma=9.0, solver="taylor"), POINTS, POINTS[:50] + 0.1),
    "no-loops": (GaussianEigenmap(4, sigma=2.0, loops=0.0), POINTS, POINTS[:50] + 0.1),
    "frame": (GaussianEigenmap(np.int64(2)), pd.DataFrame(POINTS[:300], columns=list("xyz")), None),
    "table": (HypergraphEigenmap(3, bins=4), TABLE, TABLE.head(9)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_again(name, tmp_path):
    eigenmap, rows, new = CASES[name]
    new = rows if new is None else new
    eigenmap.fit(rows).save(tmp_path / "map.safetensors")
    again = type(eigenmap).load(tmp_path / "map.safetensors")
    np.testing.assert_array_equal(again.transform(new), eigenmap.transform(new))
    for attribute in ("eigenvalues_", "residuals_"):
        np.testing.assert_array_equal(getattr(again, attribute), getattr(eigenmap, attribute))
    for attribute in ("certificate_", "n_features_in_"):
        assert getattr(again, attribute) == getattr(eigenmap, attribute)
    assert again.get_params() == eigenmap.get_params()
    assert again.get_feature_names_out().tolist() == eigenmap.get_feature_names_out().tolist()
    if isinstance(rows, pd.DataFrame):
        assert again.feature_names_in_.tolist() == rows.columns.tolist()
    if isinstance(eigenmap, GaussianEigenmap):
        assert again.sigma_ == eigenmap.sigma_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).transform(new), again.transform(new))


def test_a_series_is_small(tmp_path):
    eigenmap, rows, _ = CASES["taylor"]
    eigenmap.fit(rows).save(tmp_path / "map")
    with safe_open(tmp_path / "map", framework="numpy") as file:
        assert max(file.get_slice(name).get_shape()[0] for name in file.keys()) < 1_500  # noqa: SIM118


def test_files_that_cannot_be_used(tmp_path):
    GaussianEigenmap(2).fit(POINTS[:50]).save(tmp_path / "map")
    with pytest.raises(ModelFileError, match=r"must hold a HypergraphEigenmap\. Got a 'GaussianEigenmap'"):
        HypergraphEigenmap.load(tmp_path / "map")
    with pytest.raises(ModelFileError, match=r"must hold a model\. Got a 'eigenmap'"):
        PinvGCNClassifier.load(tmp_path / "map")
    with pytest.raises(ModelFileError, match="There is no file"):
        GaussianEigenmap.load(tmp_path / "none")
    whole = (tmp_path / "map").read_bytes()
    (tmp_path / "map").write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    with pytest.raises(ModelFileError, match="damaged"):
        GaussianEigenmap.load(tmp_path / "map")
    odd = GaussianEigenmap(2, random_state=np.random.RandomState(0)).fit(POINTS[:50])
    with pytest.raises(ParameterError, match=r"call set_params\(random_state"):
        odd.save(tmp_path / "odd")
