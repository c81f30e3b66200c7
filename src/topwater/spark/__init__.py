"""Host 2: the same monitor on Spark Structured Streaming.  A thin shell with no decisions in it."""

from topwater.spark.answers import answers_from
from topwater.spark.files import Files
from topwater.spark.generated import register
from topwater.spark.session import require, session, settings
from topwater.spark.topk import topk

__all__ = ["Files", "answers_from", "register", "require", "session", "settings", "topk"]
