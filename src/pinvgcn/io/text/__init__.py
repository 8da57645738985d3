"""Text files, for scans and tables alike.

``file.py``: encoding and gzip; ``lines.py``: lines in constant memory; ``cells.py``: separators, quotes and
missing values; ``dialect.py``: what the columns of a scan are; ``numbers.py``: lines to columns of numbers.
"""
