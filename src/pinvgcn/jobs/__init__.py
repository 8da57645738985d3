"""What every long command needs, for scans and for tables.

::

    input_files     names, patterns and folders → the files that they stand for
    outputs         refuse what cannot be written, before there is work to lose
    work_folder     what is done, so that the same command goes on after an interruption
    lock            a folder that one job uses at a time
    progress        how far a job is: one type of callback
    cost            bytes and seconds, before they are spent

A job may have several processes. The first one looks at files and folders and tells the others: on several
hosts they must not disagree.
"""

from pinvgcn.jobs.cost import Cost
from pinvgcn.jobs.input_files import input_files
from pinvgcn.jobs.lock import locked
from pinvgcn.jobs.outputs import Output, check_outputs
from pinvgcn.jobs.progress import Progress, silent
from pinvgcn.jobs.work_folder import WorkFolder, fingerprint, work_folder

__all__ = [
    "Cost",
    "Output",
    "Progress",
    "WorkFolder",
    "check_outputs",
    "fingerprint",
    "input_files",
    "locked",
    "silent",
    "work_folder",
]
