"""``pinvgcn compare``: PinvGCN beside other methods, on data of the user's own or a named data set.

- ``tasks``: a name or a file becomes a task
- ``isolated``: every method in a process of its own, timed and measured
- ``job``: the whole command
- ``chart``, ``report``: the files that are written
"""
