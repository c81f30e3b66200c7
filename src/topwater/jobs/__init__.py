"""`topwater run`: a whole job in a file, so that nobody has to write a program.

>>> from topwater.jobs import read_job
"""

from topwater.jobs.job import Job
from topwater.jobs.reading import read_job

__all__ = ["Job", "read_job"]
