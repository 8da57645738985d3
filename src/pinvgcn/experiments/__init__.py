"""Comparisons of methods on the same labels.

In the order in which data flows:

- :mod:`~pinvgcn.experiments.task`: a question (data, truth, labels that are seen), a method, its answer
- :mod:`~pinvgcn.experiments.sight`: what the methods beside PinvGCN see of its rows
- :mod:`~pinvgcn.experiments.methods`: the methods that it is compared with, as a registry
- :mod:`~pinvgcn.experiments.ours`: PinvGCN as a method like the others
- :mod:`~pinvgcn.experiments.comparison`: every method on the same labels, timed and scored
- :mod:`~pinvgcn.experiments.pieces`: what reports of comparisons share
- :mod:`~pinvgcn.experiments.process`: a process of its own for work that may fail
- :mod:`~pinvgcn.experiments.files`: the folder that results go to
- :mod:`~pinvgcn.experiments.demo`: the main job on embedded data
- :mod:`~pinvgcn.experiments.report`: its ``report.html`` and ``results.json``
- :mod:`~pinvgcn.experiments.contest`: PinvGCN beside what else there is, on data of your own
- :mod:`~pinvgcn.experiments.reproduce`: every table and figure of the paper, computed again
"""
