"""Calls whose keywords are checked as settings are: an error suggests the right one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from topwater.errors import QueryError
from topwater.validation.names import require_given, require_known
from topwater.validation.values import mapping_of

T = TypeVar("T")


def checked_call(field: str = "", of: str = "") -> Callable[[T], T]:
    """Decorate a class or a function so that a wrong call of it is a ``QueryError``.

    The signature stays as it is, for ``help()``, editors and type checkers. A call that fits is
    not looked at: only when Python itself refuses one are its keywords compared.

    Parameters
    ----------
    field
        The setting that the keywords belong to, for the message.
    of
        What has these settings, for the message.

    Examples
    --------
    >>> @checked_call("paper")
    ... def paper(width: int, height: int = 7) -> int:
    ...     return width * height
    >>> paper(3)
    21
    >>> paper(3, hieght=2)
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: paper.hieght: no such setting
      fix: did you mean height?
    """

    def decorated(made: T) -> T:
        names = _Names(str(getattr(made, "__name__", made)), field, of)
        if isinstance(made, type):
            made.__init__ = _checked(made.__init__, names)  # type: ignore[misc]
            return made
        return cast("T", _checked(cast("Callable[..., Any]", made), names))

    return decorated


class _Names(NamedTuple):
    """What a call is called in messages."""

    own: str
    field: str
    of: str


def made_from(make: Callable[..., T], given: Any, field: str = "") -> T:
    """What a class or a function that is decorated with :func:`checked_call` makes of a mapping."""
    settings = mapping_of(given, field)
    if odd := [name for name in settings if not isinstance(name, str)]:
        require_known(odd, inspect.signature(make).parameters, field)
    return make(**settings)


def setting_names(made: Callable[..., Any]) -> list[str]:
    """The names of the settings that a class or a function takes.

    Examples
    --------
    >>> setting_names(mapping_of)
    ['given', 'field', 'fix']
    """
    return [*inspect.signature(made).parameters]


def _checked(function: Callable[..., Any], names: _Names) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except TypeError:
            wrong = _misfit(inspect.signature(function), args, named, names)
            if wrong is None:  # the call fits: something inside went wrong
                raise
        raise wrong

    return called


def _misfit(
    signature: inspect.Signature, args: tuple[Any, ...], named: Mapping[str, Any], names: _Names
) -> QueryError | None:
    """What is wrong with a call, as far as its arguments show."""
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        wrong = str(error)
    else:
        return None
    parameters = [
        each for each in signature.parameters.values() if each.name not in ("self", "cls")
    ]
    needed = [each.name for each in parameters if each.default is each.empty]
    try:
        require_known(named, [each.name for each in parameters], names.field, names.of)
        require_given(
            [*[*signature.parameters][: len(args)], *named], needed, names.field, names.own
        )
    except QueryError as error:
        return error
    return QueryError(wrong, field=names.field, fix=f"write {names.own}{_shown(parameters)}")


def _shown(parameters: list[inspect.Parameter]) -> str:
    """The names, in their order; those that go by name only after the star."""
    plain = [each.replace(annotation=each.empty, default=each.empty) for each in parameters]
    return str(inspect.Signature(plain))
