"""RSP-QL: the query as text, instead of a program."""

from topwater.rspql.explanation import explain
from topwater.rspql.plan.plan import Plan
from topwater.rspql.query_text import full_name, parse

__all__ = ["Plan", "explain", "full_name", "parse"]
