"""Example services: real ones, on this machine only, to try sources against."""

from topwater_lab.services.service_process import Service, missing_package, serve, started
from topwater_lab.services.service_settings import ServiceSettings

__all__ = ["Service", "ServiceSettings", "missing_package", "serve", "started"]
