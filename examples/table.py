"""Complete a column of a table from ten known rows a class; save the model and use it again."""

import tempfile
from pathlib import Path

import numpy as np

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split

mushroom = load_dataset("mushroom")
edibility = np.array(mushroom.target_names)[mushroom.y]  # text labels
labels = random_split(edibility, per_class=10, random_state=0)  # None where unknown

model = PinvGCNClassifier(graph="categorical").fit(mushroom.X, labels)
unknown = np.array([label is None for label in labels])
print(f"rows without a label: {np.mean(model.transduction_[unknown] == edibility[unknown]):.1%} right")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mushroom.safetensors"
    model.save(path)
    again = PinvGCNClassifier.load(path)
    print(again.predict(mushroom.X.head(3)), again.predict_proba(mushroom.X.head(3)).round(3).tolist())
