"""Every table and figure of the paper, computed again.

In the order in which data flows:

- ``paper``: the paper's numbers (``paper.json``), and the difference of two means in standard errors
- ``question``: a data set and the labels that are seen of it, by name; ``citation_hypergraph``
- ``pinv``: the method, by the settings that the tables have
- ``entry``: one line of work, a method that answers a question for many seeds
- ``ledger``: the file of results, a JSON line for each thing that happened; ``place``: its folder
- ``statistics``, ``work``, ``runner``: the process that does the work, within a budget
- ``results``: what the ledger says about an entry
- ``blocks``, ``cells``, ``curves``, ``rows``: pieces of a report, in Markdown and in HTML
- ``oakland``, ``hypergraphs``, ``split_size``, ``citation``, ``regularization``, ``rank``, ``weights``: one
  experiment each, its work and its part of the report; ``catalogue`` has them all
- ``report``, ``job``: the report, and ``pinvgcn reproduce`` as a whole
"""
