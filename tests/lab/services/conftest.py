"""A service that stands still, and a client to ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from topwater_lab import services

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def service() -> Iterator[services.Service]:
    with services.started(users=420, seed=3, speed=0.0) as service:
        yield service


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10.0, trust_env=False) as client:
        yield client
