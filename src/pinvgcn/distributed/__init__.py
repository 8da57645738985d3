"""Several processes that share the rows of one problem.

``Group`` is the process group: sums, extremes and rows that cross processes. One process alone is a group
too (``ALONE``), so that no caller distinguishes the two. Objects that own rows (graphs, bases, problems,
tiles) hold their group.
"""
