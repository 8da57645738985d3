"""What a result is worth, and the page about it: evaluation, figures, HTML.

- ``evaluation``: accuracy, recall, F1 and their intervals, from a confusion matrix
- ``held_out``: methods fitted without each fold of the labels, of a scan and of a table
- ``figures``: numbers in, inline SVG out; ``scan``, ``table``, ``model``, ``methods``
- ``page``: a template and values in, a page out
- ``templates``: a file for each kind of report, and one style sheet
- ``pages``: those of ``pinvgcn segment --report`` and ``classify --report``

Another figure is a function in ``figures`` that returns an SVG, a line in ``pages`` that calls it,
and a line in the page's template that shows it.
"""
