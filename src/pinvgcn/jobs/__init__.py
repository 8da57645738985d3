"""What every long command needs, for scans and for tables.

::

    files           names, patterns and folders → the files that they stand for; refuse what cannot be written
    work_folder     what is done, so that the same command goes on after an interruption; one job at a time
    progress        how far a job is: one type of callback; bytes and seconds, before they are spent

A job may have several processes. The first one looks at files and folders and tells the others: on several
hosts they must not disagree.
"""

from pinvgcn.jobs.files import Output, check_outputs, input_files
from pinvgcn.jobs.progress import Cost, Progress, duration, silent
from pinvgcn.jobs.work_folder import WorkFolder, fingerprint, locked, work_folder

__all__ = [
    "Cost",
    "Output",
    "Progress",
    "WorkFolder",
    "check_outputs",
    "duration",
    "fingerprint",
    "input_files",
    "locked",
    "silent",
    "work_folder",
]
