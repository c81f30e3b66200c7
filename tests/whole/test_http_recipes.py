"""GraphQL and Elasticsearch by `remote.http`, in the shapes that they really send."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.support.loopback import serving
from topwater import remote
from topwater.errors import SourceError
from topwater.testing import check_failing_source, check_source

PRODUCTS: dict[str, dict[str, Any]] = {
    "1": {"price": 3.0, "stock": 7, "title": "tea"},
    "2": {"price": 4.5, "stock": 0, "title": 'a "b" {key}'},
    "a b": {"price": 1.0, "stock": 2, "title": None},
}
KEYS, MISSING = np.array([*PRODUCTS], object), np.array(["9", "{keys}"], object)


def said(document: Any, status: int = 200) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps(document).encode()


def graphql(_: str, path: str, body: bytes) -> tuple[int, str, bytes]:
    """Variables only: a key that is in the query itself would be a hole."""
    asked = json.loads(body)
    if asked["query"] not in (LIST, ONE):
        return said({"errors": [{"message": "Syntax Error: Unexpected }"}]}, 400)
    if path == "/broken":
        told = {"message": "database is down", "path": ["products"]}
        return said({"errors": [told], "data": {"products": None, "product": None}})
    given = asked["variables"]
    if asked["query"] == ONE:
        return said({"data": {"product": PRODUCTS.get(str(given["id"]))}})
    found = [PRODUCTS.get(str(key)) and {"id": key, **PRODUCTS[str(key)]} for key in given["ids"]]
    return said({"data": {"products": found}})


LIST = "query ($ids: [ID!]!) { products(ids: $ids) { id price stock title } }"
ONE = "query ($id: ID!) { product(id: $id) { price stock } }"


def by_list(url: str, **more: Any) -> Any:
    return remote.http(
        f"{url}/graphql",
        body={"query": LIST, "variables": {"ids": "{keys}"}},
        key="data.products[*].id",
        value={"price": "data.products[*].price", "stock": "data.products[*].stock"},
        text={"title": "data.products[*].title"},
        errors="errors",
        **more,
    )


def test_graphql_with_a_list_of_keys() -> None:
    with serving(graphql) as url:
        check_source(lambda: by_list(url), KEYS, MISSING)
        got = by_list(url).fetch(np.concatenate([KEYS, MISSING]))
        assert got.numbers("stock")[:3].tolist() == [7.0, 0.0, 2.0]
        assert got.texts("title").tolist() == ["tea", 'a "b" {key}', None, None, None]
        assert got.lacks() == {"not_found": 2}
        assert by_list(url).fetch(np.array([1, 2])).values.tolist() == [3.0, 4.5]


def test_graphql_with_one_key() -> None:
    with serving(graphql) as url:
        source = remote.http(
            url,
            body={"query": ONE, "variables": {"id": "{key}"}},
            value=["data.product.price", "data.product.stock"],
            errors="errors",
        )
        assert source.names == ("data.product.price", "data.product.stock")
        assert source.fetch(KEYS).values.tolist() == [3.0, 4.5, 1.0]


def test_errors_of_graphql_are_failures_and_not_values_that_are_missing() -> None:
    with serving(graphql) as url:

        def broken() -> Any:
            return remote.http(
                f"{url}/broken",
                body={"query": ONE, "variables": {"id": "{key}"}},
                value="data.product.price",
                errors="errors",
                retries=0,
            )

        check_failing_source(broken, KEYS)
        assert broken().fetch(KEYS).problems() == {"server": 3}
        with pytest.raises(SourceError, match=r"reports at errors: .*database is down"):
            broken().check("1")


def elasticsearch(_: str, path: str, body: bytes) -> tuple[int, str, bytes]:
    asked = json.loads(body)
    if path == "/products/_mget":
        docs: list[Any] = []
        for key in asked["ids"]:
            found = PRODUCTS.get(str(key))
            told = {"found": False} if found is None else {"found": True, "_source": found}
            docs.append({"_index": "products", "_id": str(key), **told})
        return said({"docs": docs})
    shards: dict[str, Any] = {"total": 2, "successful": 2, "skipped": 0, "failed": 0}
    keys = asked["query"]["terms"]["sku"]
    if "down" in keys:
        failures = [{"shard": 0, "reason": {"type": "no_shard_available_action_exception"}}]
        shards |= {"successful": 1, "failed": 1, "failures": failures}
    offers: list[dict[str, Any]] = [
        {"sku": key, "price": price, "by": seller}
        for key, price, seller in (("1", 3.0, "ann"), ("1", 5.5, "bob"), ("2", 4.0, "cy"))
        if key in keys
    ]
    answer: dict[str, Any] = {"took": 2, "timed_out": False, "_shards": shards}
    hits = [{"_index": "offers", "_id": str(at), "_source": each} for at, each in enumerate(offers)]
    answer["hits"] = {"total": {"value": len(offers)}, "hits": hits[: asked.get("size", 10)]}
    if "aggs" in asked:
        buckets = [
            {
                "key": key,
                "doc_count": sum(each["sku"] == key for each in offers),
                "price": {"value": max(each["price"] for each in offers if each["sku"] == key)},
            }
            for key in dict.fromkeys(each["sku"] for each in offers)
        ]
        answer["aggregations"] = {"by_key": {"sum_other_doc_count": 0, "buckets": buckets}}
    return said(answer)


def test_elasticsearch_by_the_ids_of_documents() -> None:
    with serving(elasticsearch) as url:

        def source() -> Any:
            return remote.http(
                f"{url}/products/_mget",
                body={"ids": "{keys}"},
                key="docs[*]._id",
                value={"price": "docs[*]._source.price", "stock": "docs[*]._source.stock"},
                text={"title": "docs[*]._source.title"},
            )

        check_source(source, KEYS, MISSING)
        assert source().fetch(np.array([1, 9])).lacks() == {"no_value": 1}


SEARCH = {"query": {"terms": {"sku": "{keys}"}}}


def test_elasticsearch_by_a_field_with_several_documents_of_a_key() -> None:
    with serving(elasticsearch) as url:
        hits = remote.http(
            f"{url}/offers/_search",
            body={**SEARCH, "size": 10_000, "_source": ["sku", "price", "by"]},
            key="hits.hits[*]._source.sku",
            value={"price": "max(hits.hits[*]._source.price)", "offers": "count()"},
            text={"by": "min(hits.hits[*]._source.by)"},
            errors="_shards.failures",
        )
        got = hits.fetch(np.array(["1", "2", "9"], object))
        assert got.numbers("offers").tolist() == [2.0, 1.0, 0.0]
        assert got.texts("by").tolist() == ["ann", "cy", None]
        part = {"price": {"max": {"field": "price"}}}
        merged = remote.http(
            f"{url}/offers/_search",
            body={
                **SEARCH,
                "size": 0,
                "aggs": {"by_key": {"terms": {"field": "sku", "size": 10_000}, "aggs": part}},
            },
            key="aggregations.by_key.buckets[*].key",
            value={
                "price": "aggregations.by_key.buckets[*].price.value",
                "offers": "aggregations.by_key.buckets[*].doc_count",
            },
            errors="_shards.failures",
        )
        again = merged.fetch(np.array(["1", "2"], object))
        assert again.values.tolist() == got.values[:2].tolist() == [5.5, 4.0]
        lost = hits.fetch(np.array(["1", "down"], object))
        assert lost.problems() == {"server": 2}
