"""RSP-QL: the query as text, instead of a program."""

from topwater.rspql.explaining import explain
from topwater.rspql.parsing import full_name, parse
from topwater.rspql.plan import Plan

__all__ = ["Plan", "explain", "full_name", "parse"]
