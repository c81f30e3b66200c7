"""Example services: real ones, on this machine only, to try sources against.

Everything here needs the extra ``serve``: ``pip install "topwater[serve]"``.
"""

from topwater.serving.running import Service, serve, started
from topwater.serving.settings import ServiceSettings

__all__ = ["Service", "ServiceSettings", "serve", "started"]
