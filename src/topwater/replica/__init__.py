"""(2) Remember remote values, estimate how they change, choose what to refresh."""

from topwater.replica.budget import Budget
from topwater.replica.ranking import Ranking, WindowView
from topwater.replica.refresh import Refresher
from topwater.replica.replica import Replica
from topwater.replica.settings import RefreshSettings

__all__ = ["Budget", "Ranking", "RefreshSettings", "Refresher", "Replica", "WindowView"]
