"""Where remote values come from: sources behind the one protocol."""

from topwater.remote.replay import Replay
from topwater.remote.steps import Steps

__all__ = ["Replay", "Steps"]
