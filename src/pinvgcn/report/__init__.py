"""What a result is worth, and the page about it: evaluation, figures, HTML.

- ``held_out``: how well labels are found that were held out
- ``learned``: the filters of a trained network, as numbers
- ``environment``: versions and processors that a result was computed with
- ``figures``: one kind of figure a file
- ``page``: the document and its style sheet
- ``scan_page``, ``table_page``: the pages of ``pinvgcn segment --report`` and ``classify --report``
"""
