"""The demo: who is mentioned most while their following grows, on Spark, with 7 look-ups a window.

It runs a query with a remote part on Spark, against a real service that limits how often it may be
asked, and shows as windows close how right the answers are beside what others would have answered
with the same number of look-ups. In the end it writes a report.
"""

from topwater.demo.report import Report, made
from topwater.demo.running import OUT, Wishes, run
from topwater.demo.scene import Scene
from topwater.demo.telling import JsonLines, Lines

__all__ = ["OUT", "JsonLines", "Lines", "Report", "Scene", "Wishes", "made", "run"]
