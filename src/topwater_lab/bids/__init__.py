"""A stream of bids, made up on the spot: in process and as a source of Spark."""

from topwater_lab.bids.generator import Bids, bids_from

__all__ = ["Bids", "bids_from"]
