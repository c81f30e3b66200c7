"""RSP-QL: the query as text, instead of a program."""

from topwater.rspql.parsing import full_name, parse
from topwater.rspql.plan import Plan

__all__ = ["Plan", "full_name", "parse"]
