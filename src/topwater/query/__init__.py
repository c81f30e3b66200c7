"""One continuous query: what is asked, in one frozen value that checks itself."""

from topwater.query.topk_query import LateRule, TopKQuery

__all__ = ["LateRule", "TopKQuery"]
