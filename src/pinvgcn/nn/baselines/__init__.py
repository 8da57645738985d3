"""The networks that the paper compares itself with.

``networks.py`` has the networks, some with layers of PyTorch Geometric; ``gdc.py`` another graph for GCN;
``inputs.py`` what stays as it is while they are trained, with only the nodes that a loss can see;
``training.py`` is the loop that trains them all.
"""
