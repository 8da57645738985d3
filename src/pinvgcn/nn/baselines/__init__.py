"""The networks that the paper compares itself with.

``networks.py`` has the networks, some with layers of PyTorch Geometric, and the graphs that they work on;
``training.py`` the loop that trains them all, and what stays as it is meanwhile.
"""
