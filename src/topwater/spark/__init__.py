"""Host 2: the same monitor on Spark Structured Streaming.  A thin shell with no decisions in it."""

from topwater.spark.answer_rows import answers_from
from topwater.spark.file_source import Files
from topwater.spark.launch import start
from topwater.spark.metrics import Progress, watch
from topwater.spark.rescaled_checkpoint import rescale
from topwater.spark.rspql import Mapped, Rdf, rspql
from topwater.spark.session import require, session, settings
from topwater.spark.sql_function import register_sql
from topwater.spark.standing import standing
from topwater.spark.standing_queries import standing_queries
from topwater.spark.state import read_state
from topwater.spark.streams import stream
from topwater.spark.topk import topk

__all__ = [
    "Files",
    "Mapped",
    "Progress",
    "Rdf",
    "answers_from",
    "read_state",
    "register_sql",
    "require",
    "rescale",
    "rspql",
    "session",
    "settings",
    "standing",
    "standing_queries",
    "start",
    "stream",
    "topk",
    "watch",
]
