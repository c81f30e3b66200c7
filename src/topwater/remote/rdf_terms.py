"""RDF terms as SPARQL writes them.

Keys become terms here, at the border, by the grammar of SPARQL 1.1 and of RFC 3987: what can't be
written as a term is not written at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from topwater.errors import QueryError

XSD = "http://www.w3.org/2001/XMLSchema#"

_WHOLE = (
    "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger "
    "negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
)
_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
NUMBER_FORMS = {
    **dict.fromkeys(_WHOLE.split(), re.compile(r"[+-]?[0-9]+")),
    "decimal": re.compile(_DECIMAL),
    **dict.fromkeys(("double", "float"), re.compile(rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?")),
}
"""How numbers are written, by the datatype's name in XML Schema; infinite ones are left out."""

_UCS = (
    "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14))
    + "\U000e1000-\U000efffd"
)
_PLAIN = rf"[A-Za-z0-9\-._~!$&'()*+,;={_UCS}]|%[0-9A-Fa-f]{{2}}"
_CHAR = rf"(?:{_PLAIN}|[:@])"
_IRI = re.compile(
    rf"""[A-Za-z][A-Za-z0-9+.\-]*:
    (?://(?:(?:{_PLAIN}|:)*@)?(?:{_PLAIN})*(?::\d*)?(?:/{_CHAR}*)*   # an authority, then a path
      |/?(?:{_CHAR}+(?:/{_CHAR}*)*)?)                                # or a path without one
    (?:\?(?:{_CHAR}|[/?])*)?(?:\#(?:{_CHAR}|[/?])*)?""",
    re.VERBOSE,
)
_LANG = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(
    r"\\[uU]?|[\x00-\x1f\"\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def iri(text: str) -> str | None:
    """``text`` as an IRI in a query; None if it is not an absolute IRI.

    Examples
    --------
    >>> iri("http://example.org/user/7")
    '<http://example.org/user/7>'
    >>> iri("http://example.org/> } UNION {") is None, iri("7") is None
    (True, True)
    """
    return f"<{text}>" if _IRI.fullmatch(text) else None


def literal(text: str, datatype: str | None = None, lang: str | None = None) -> str | None:
    r"""``text`` as a literal in a query; None if it is not text that can be sent.

    Examples
    --------
    >>> print(literal('say "no"\n', lang="en"))
    "say \"no\"\n"@en
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    text = _ESCAPED.sub(_escaped, text)
    if lang is not None:
        return f'"{text}"@{lang}'
    return f'"{text}"' if datatype is None else f'"{text}"^^{datatype}'


def _escaped(found: re.Match[str]) -> str:
    r"""How a character is written that can't, or should not, stand in a query as it is.

    Some endpoints resolve \uXXXX before they look for strings, and so in \\u0022 too. With its u
    written as \u0075 it means the same to all of them.
    """
    text = found[0]
    if len(text) > 1:
        return rf"\\\u{ord(text[1]):04X}"
    return _SHORT.get(text, rf"\u{ord(text):04X}")


def require_lang(lang: str | None) -> None:
    """Raise ``QueryError`` unless ``lang`` is a language tag, or nothing."""
    if lang is not None and not _LANG.fullmatch(lang):
        raise QueryError(
            f"{lang!r} is not a language tag", field="lang", fix='write "en" or "en-GB"'
        )


def checked_prefixes(given: Mapping[str, str] | None) -> dict[str, str]:
    """Names for the beginnings of IRIs."""
    found = dict(given or {})
    for name, start in found.items():
        if not all(part.replace("-", "").isalnum() for part in (name or "x").split(".")):
            raise QueryError(f"{name!r} is not a prefix", field="prefixes", fix="use letters")
        if iri(start) is None:
            raise QueryError(
                f"{start!r} is not an IRI",
                field=f"prefixes.{name}",
                fix='write "http://example.org/"',
            )
    return found


def checked_datatype(
    given: str | None, prefixes: Mapping[str, str], lang: str | None
) -> str | None:
    """A datatype as a term, from an IRI or a name with a prefix."""
    if given is None:
        return None
    name, colon, rest = given.partition(":")
    known = {"xsd": XSD, **prefixes}
    term = iri(known[name] + rest) if colon and name in known else iri(given)
    if term is None or lang is not None:
        raise QueryError(
            f"{given!r} is not a datatype" if lang is None else "can't be used together with lang",
            field="datatype",
            fix='write an IRI or "xsd:integer", or leave it out',
        )
    return term


def checked_namespace(namespace: str, key_as: str) -> str:
    """What stands before keys to make them IRIs."""
    if namespace and (key_as != "iri" or iri(namespace) is None):
        raise QueryError(
            f"{namespace!r} can't stand before keys",
            field="namespace",
            fix='write "http://example.org/user/", and key_as="iri"',
        )
    return namespace
