"""The Python on the pages runs as it stands, given the data that it speaks of."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

import pinvgcn
from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import generate_street, random_split

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "../README.md",
    "index.md",
    "python.md",
    "other-models.md",
    "new-data.md",
    "saved-models.md",
    "settings.md",
)


def snippets(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield text[: match.start()].count("\n") + 1, match[1]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """What the pages take for granted, small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PinvGCNClassifier.__init__.__kwdefaults__, "epochs", 5)
    street = generate_street(1000, random_state=0)
    rows = np.arange(len(street.y)) % 2 == 0
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": random.choice(["red", "blue"], 60), "size": random.random(60)})
    column = pd.Series(np.where(frame["colour"] == "red", "edible", "poisonous"), dtype=object)
    column[20:] = None
    frame.assign(edibility=column).to_csv("mushrooms.csv", index=False)
    ring = sp.diags_array([np.ones(49), np.ones(49)], offsets=[-1, 1], shape=(50, 50)).tocsr()
    names = {name: getattr(pinvgcn, name) for name in pinvgcn.__all__}
    return names | {
        "points": street.X[rows],
        "labels": random_split(street.y[rows], per_class=5, random_state=0),
        "more_points": street.X[~rows],
        "other_tile": street.X[~rows],
        "other_points": street.X[~rows],
        "other_labels": random_split(street.y[~rows], per_class=5, random_state=1),
        "np": np,
        "torch": torch,
        "frame": frame,
        "column": column,
        "more_rows": frame.head(3),
        "adjacency": ring,
        "node_features": random.random((50, 4)),
    }


@pytest.mark.filterwarnings("ignore:.*far outside the training cloud")  # so few points have outliers
@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page, data):
    of_points = PinvGCNClassifier().fit(data["points"], data["labels"])
    data["model"] = of_points
    for line, code in snippets(page):
        if "node_features" in code:
            data["labels"] = np.resize([0, 1, -1, -1, -1], 50)  # of the nodes, there
        if code.startswith("model.predict(more_points)"):
            data["model"] = of_points
        exec(compile("\n" * line + code, str(DOCS / page), "exec"), data)
