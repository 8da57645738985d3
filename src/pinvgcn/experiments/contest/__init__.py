"""``pinvgcn compare``: PinvGCN beside what else there is, on data of your own or a named data set.

- ``data``: a name or a file becomes a task
- ``memory``: the most memory that a process has held
- ``apart``: every method in a process of its own, timed and measured
- ``chart``: the picture
- ``report``: the files that are written
"""
