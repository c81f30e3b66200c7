"""The follower counts as RDF, asked in SPARQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from topwater_lab import services

if TYPE_CHECKING:
    pass


COUNT = "SELECT (COUNT(*) AS ?n) WHERE { ?user <http://example.org/followers> ?f }"


def test_the_ways_to_send_a_query(service: services.Service, client: httpx.Client) -> None:
    url = service.sparql
    kind = {"content-type": "application/sparql-query"}
    for reply in (
        client.get(url, params={"query": COUNT}),
        client.post(url, data={"query": COUNT}),
        client.post(url, content=COUNT, headers=kind),
    ):
        assert reply.headers["content-type"] == "application/sparql-results+json"
        assert reply.json()["results"]["bindings"][0]["n"]["value"] == "420"
    assert client.get(url, params={"query": "ASK { ?s ?p ?o }"}).json()["boolean"] is True


@pytest.mark.parametrize(
    "query",
    [
        "SELEKT", "", "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "DELETE WHERE { ?s ?p ?o }",
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    ],
)  # fmt: skip
def test_queries_that_are_refused(
    service: services.Service, client: httpx.Client, query: str
) -> None:
    assert client.get(service.sparql, params={"query": query}).status_code == 400
    assert client.post(service.sparql, data={"query": query}).status_code == 400
