"""``pinvgcn reproduce``: every table and figure of the paper, computed again.

``experiment`` has data sets, entries (a method on a task for many seeds) and experiments; ``ledger`` the file
of results; ``results`` the paper's numbers and what the ledger says beside them; ``runner`` the process that
does the work; ``tables`` and ``figures`` every experiment, its work and its part of the report, made of
``result_tables``; ``job`` the whole command and its report.
"""
