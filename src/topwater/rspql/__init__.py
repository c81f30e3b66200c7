"""RSP-QL: the query as text, instead of a program."""

from topwater.rspql.plan import Plan

__all__ = ["Plan"]
