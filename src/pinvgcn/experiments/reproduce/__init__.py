"""``pinvgcn reproduce``: every table and figure of the paper, computed again.

In the order in which data flows:

- ``paper``: the paper's numbers (``paper.json``), and the difference of two means in standard errors
- ``task_specs``: the paper's data sets and labels, by name
- ``experiment``: an ``Entry``, a method on a task for many seeds; an ``Experiment``, a table or figure
- ``ledger``: the folder and its file of results, a JSON line for each thing that happened
- ``worker``, ``runner``: the process that does the work, and the one that waits for it, within a budget
- ``results``: what the ledger says about an entry
- ``document``, ``result_tables``: parts of a report, in Markdown and in HTML
- ``oakland``, ``hypergraphs``, ``split_size``, ``citation``, ``regularization``, ``rank``, ``weights``: one
  experiment each, its work and its part of the report; ``catalogue`` has them all
- ``report``, ``job``: the report, and the whole command
"""
