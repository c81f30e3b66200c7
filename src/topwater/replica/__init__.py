"""(2) Remember remote values, estimate how they change, choose what to refresh."""

from topwater.replica.budget import Budget
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.refresher import Refresher
from topwater.replica.store import Replica
from topwater.replica.window_view import Ranking, WindowView

__all__ = ["Budget", "Ranking", "RefreshSettings", "Refresher", "Replica", "WindowView"]
