"""Experts: each learns from labelled rows and gives log p of any row, one expert a file.

::

    Forest.grown(X, labels, nodes, count=, seed=)   extremely randomised trees (``forest.py``)
    forest.log_proba(X)                             (m, classes)
    forest.state(), Forest.from_state(arrays, …)    its arrays in a saved model
"""

from pinvgcn.experts.forest import Forest

__all__ = ["Forest"]
