"""A page to keep open: rankings in a browser while windows close, and how fresh they are."""

from topwater.live.page import Page
from topwater.live.records import Record, Truth, record_of, records_of_rows

__all__ = ["Page", "Record", "Truth", "record_of", "records_of_rows"]
