"""Research: methods compared on the same labels, the paper computed again.

In the order in which data flows:

- ``task``: data, truth and the labels that are seen; a method, its answer
- ``methods``: PinvGCN and the methods that it is compared with
- ``worker_process``: a process of its own for work that may fail
- ``comparison``: every method on the same labels, timed and scored
- ``demo``: ``pinvgcn demo``, on embedded data
- ``compare``: ``pinvgcn compare``, on data of the user's own
- ``reproduce``: ``pinvgcn reproduce``, every table and figure of the paper
"""
