"""Label a whole scan from twenty labelled points a class, then points that the model has never seen."""

import numpy as np

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import generate_street, random_split

street = generate_street(20_000, random_state=0)
seen = np.arange(len(street.y)) % 2 == 0  # every second point stays away from training
labels = random_split(street.y[seen], per_class=20, random_state=0)  # -1 where unlabelled

model = PinvGCNClassifier().fit(street.X[seen], labels)
unlabelled = labels == -1
print(f"sigma {model.graph_.sigma:.1f}, {model.spectrum_.rank} eigenvectors by {model.spectrum_.solver}")
right = model.transduction_ == street.y[seen]
print(f"unlabelled points of the scan: {right[unlabelled].mean():.1%}")
print(f"points never seen:             {model.score(street.X[~seen], street.y[~seen]):.1%}")
