"""The parser is compared with Python's, values with plain floats, bounds and slopes by sampling."""

from __future__ import annotations

import ast
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st

from topwater.errors import BatchError, QueryError
from topwater.scoring.algebras import INTERVALS, NUMPY, TRENDS
from topwater.scoring.expressions import (
    MAX_DEPTH,
    MAX_LENGTH,
    Call,
    Expression,
    Name,
    Node,
    Number,
    parse,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
MODEST = st.floats(-1e3, 1e3)
COLUMNS = ("a", "b", "total count")


def trees(functions: tuple[str, ...], numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Node]:
    """Trees that the parser could give, of operators and functions taken from ``functions``."""

    def grown(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        return st.one_of([_calls(name, inner, numbers) for name in functions])

    leaves = st.one_of(st.sampled_from(COLUMNS).map(Name), numbers.map(Number))
    return st.recursive(leaves, grown, max_leaves=8)


def _calls(
    name: str, inner: st.SearchStrategy[Node], numbers: st.SearchStrategy[float]
) -> st.SearchStrategy[Node]:
    ends = st.tuples(numbers, numbers).map(sorted).filter(lambda e: math.isfinite(e[1] - e[0]))
    if name in ("clip", "norm"):
        return st.builds(lambda x, e: Call(name, (x, Number(e[0]), Number(e[1]))), inner, ends)
    if name == "neg":
        return inner.filter(lambda x: not isinstance(x, Number)).map(lambda x: Call(name, (x,)))
    if name == "if":
        return st.tuples(inner, inner, inner).map(lambda x: Call(name, x))
    several = {"min": 3, "max": 3, "all": 3, "any": 3}
    most = several.get(name, 2 if name in "+-**/" else 1)
    least = 1 if most != 2 else 2
    return st.lists(inner, min_size=least, max_size=most).map(lambda x: Call(name, tuple(x)))


STEPS = ("floor", "ceil", "round", "positive", "all", "any", "if")
ROUNDED = ("+", "-", "*", "/", "neg", "abs", "sqrt", "min", "max", "clip", "norm", *STEPS)
"""Operators that IEEE 754 rounds correctly, so that two implementations agree to the last bit."""

EVERYTHING = (*ROUNDED, "**", "exp", "log", "log1p")
WHOLE = st.integers(-3, 3).map(float)


def oracle(node: Node, row: dict[str, float]) -> float:
    """The value of one row, by Python floats; ZeroDivisionError where Python says so."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Name):
        return row[node.name]
    args = [oracle(arg, row) for arg in node.args]
    if node.op in CONDITIONS:
        return float(CONDITIONS[node.op](*args))
    if any(math.isnan(arg) for arg in args):
        return math.nan
    try:
        return float(PLAIN[node.op](*args))
    except ValueError:
        return math.nan


def _three_valued(found: bool, otherwise: float, args: tuple[float, ...]) -> float:
    """What is found decides; else a NaN says that it is not known."""
    decided = 1 - otherwise
    return decided if found else math.nan if any(map(math.isnan, args)) else otherwise


CONDITIONS: dict[str, Any] = {
    "all": lambda *args: _three_valued(any(x <= 0 for x in args), 1.0, args),
    "any": lambda *args: _three_valued(any(x > 0 for x in args), 0.0, args),
    "if": lambda c, x, y: math.nan if math.isnan(c) else x if c > 0 else y,
}
PLAIN: dict[str, Any] = {
    "floor": lambda x: x if math.isinf(x) else math.floor(x),
    "ceil": lambda x: x if math.isinf(x) else math.ceil(x),
    "round": lambda x: x if math.isinf(x) else math.floor(Fraction(x) + Fraction(1, 2)),
    "positive": lambda x: x > 0,
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "neg": lambda x: -x,
    "abs": abs,
    "sqrt": math.sqrt,
    "min": lambda *args: min(args),
    "max": lambda *args: max(args),
    "clip": lambda x, low, high: min(max(x, low), high),
    "norm": lambda x, low, high: 0.0 * (x - low) if low == high else (x - low) / (high - low),
}


class TestParse:
    @given(
        st.lists(
            st.sampled_from(["a", "b", "2", "0.5", "+", "-", "*", "/", "**", "(", ")"]), max_size=12
        )
    )
    @example(["-", "a", "**", "-", "b", "**", "2"])
    @example(["a", "-", "b", "-", "2", "/", "a", "/", "b"])
    @example(["(", "-", "2", ")", "**", "2", "**", "a"])
    def test_reads_as_python_does(self, tokens: list[str]) -> None:
        text = " ".join(tokens)
        try:
            expected: Node | None = from_python(ast.parse(text, mode="eval").body)
        except (SyntaxError, LookupError):
            expected = None
        if expected is None:
            with pytest.raises(QueryError):
                parse(text)
        else:
            assert parse(text).tree == expected

    def test_needs_no_spaces(self) -> None:
        assert parse("2*-a**b/(a-1)") == parse(" 2 * - a ** b\t/\n( a - 1 ) ")

    @given(trees(EVERYTHING, FINITE))
    def test_text_comes_back(self, tree: Node) -> None:
        assert parse(str(Expression(tree))).tree == tree

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("a**b**c", "a ** b ** c"),
            ("(a**b)**c", "(a ** b) ** c"),
            ("(-a)**2", "(-a) ** 2"),
            ("-a**2", "-a ** 2"),
            ("-(a*b)", "-(a * b)"),
            ("-a*b", "-a * b"),
            ("(-3)**2", "(-3) ** 2"),
            ("a--3", "a - -3"),
            ("a-(b-c)", "a - (b - c)"),
            ("(a-b)-c", "a - b - c"),
            ("a/(b*c)", "a / (b * c)"),
            ("(a+b)*c", "(a + b) * c"),
            ("1e300+0.1+1.0", "1e+300 + 0.1 + 1"),
            ("max(a,(b),`c d`)", "max(a, b, `c d`)"),
        ],
    )
    def test_text_has_the_parentheses_it_needs(self, text: str, shown: str) -> None:
        assert str(parse(text)) == shown
        assert parse(shown) == parse(text)

    @given(st.text(min_size=1))
    def test_any_name_can_be_quoted(self, name: str) -> None:
        expression = Expression(Call("abs", (Name(name),)))
        assert expression.columns == (name,)
        assert parse(str(expression)) == expression

    def test_a_column_may_be_called_like_a_function(self) -> None:
        assert parse("max(max, min)").columns == ("max", "min")

    def test_columns_come_in_order_of_first_use(self) -> None:
        assert parse("c + a * c - `b`").columns == ("c", "a", "b")

    def test_the_deepest_tree_comes_back_too(self) -> None:
        tree: Node = Name("a")
        for level in range(MAX_DEPTH - 1):
            tree = Call("-", (Number(1.0), tree)) if level % 2 else Call("neg", (tree,))
        expression = Expression(tree)
        assert parse(str(expression)) == expression
        assert pickle.loads(pickle.dumps(expression)) == expression  # noqa: S301
        assert hash(expression) == hash(parse(str(expression)))


def from_python(node: ast.AST) -> Node:
    """Python's tree as ours; LookupError for what we do not have."""
    match node:
        case ast.Constant(value=value):
            return Number(float(value))  # type: ignore[arg-type]
        case ast.Name(id=name):
            return Name(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = from_python(operand)
            return Number(-inner.value) if isinstance(inner, Number) else Call("neg", (inner,))
        case ast.BinOp(left=left, op=op, right=right):
            return Call(INFIX[type(op)], (from_python(left), from_python(right)))
        case _:
            raise LookupError


INFIX: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "problem", "fix"),
        [
            ("", "empty", "column name"),
            (" \n", "empty", "column name"),
            ("1 +", "the text ends at character 4", "complete"),
            ("1 + * 2", "found '*' at character 5", "complete"),
            ("(a + b", "expected ')'", "opened at character 1"),
            ("a + b)", "')' is too much at character 6", "open a parenthesis"),
            ("a b", "'b' is too much at character 3", "operator"),
            ("squrt(a)", "'squrt' is not a function", "did you mean sqrt?"),
            ("LOG(a)", "'LOG' is not a function", "did you mean log?"),
            ("frobnicate(a)", "not a function", "use one of: abs"),
            ("abs(a, b)", "abs takes 1 argument(s), not 2", "abs(x)"),
            ("max()", "max takes at least 1", "max(x)"),
            ("clip(a, 1)", "clip takes 3", "clip(x, lo, hi)"),
            ("clip(a, 2, 1)", "2 to 1 is not a range", "lower end first"),
            ("norm(a, 2, 1)", "2 to 1 is not a range", "lower end first"),
            ("norm(a, b, 1)", "not plain numbers", "norm(x, 0, 50)"),
            ("norm(a, -1e308, 1e308)", "not a range", "lower end"),
            ("1e999", "too large", "below"),
            ("x ^ 2", "'^' can't be read at character 3", "**"),
            ("user.followers", "'.' can't be read at character 5", "backticks"),
            ("`a", "can't be read at character 1", "close the backtick"),
            ("``", "can't be read", "backtick"),
            ("größe", "'ö' can't be read at character 3", "backticks"),
            ("'a'", "can't be read", "backticks, not in quotes"),
        ],
    )
    def test_says_what_where_and_how_to_mend_it(self, text: str, problem: str, fix: str) -> None:
        with pytest.raises(QueryError) as caught:
            parse(text)
        assert caught.value.field == "score"
        assert problem in caught.value.problem
        assert fix in caught.value.fix

    def test_the_caret_is_under_the_place(self) -> None:
        text = "0.5 * (alpha + beta) + 1 +\n" + "0.25 * gamma $ 2 + " + "delta + " * 30 + "1"
        with pytest.raises(QueryError) as caught:
            parse(text)
        _, shown, caret = caught.value.problem.split("\n")
        assert shown[caret.index("^")] == "$"
        assert len(shown) < 100

    @pytest.mark.parametrize(
        "text",
        [
            "__import__('os').system('true')",
            "__import__(os)",
            "lambda: 1",
            "(lambda)(1)",
            "a.__class__",
            "a[0]",
            "[a for a in b]",
            "a if b else 1",
            "a := 1",
            "a; b",
            "f'{a}'",
            "a < b",
            "a and b",
            "1j",
            "0x10",
            "1_000",
            "+a",
            "a, b",
            "()",
            "min(a,)",
            "min(,a)",
            "abs(*a)",
            "`abs`(a)",
            "(abs)(a)",
            "\u0661 + \u0662",
            "a\u00a0+ b",
            "\uff41bs(a)",
            "a \u2212 b",
            "\ud800",
            "a\x00",
            "a # b",
        ],
    )
    def test_what_is_not_arithmetic_is_refused(self, text: str) -> None:
        with pytest.raises(QueryError, match="score: "):
            parse(text)

    @pytest.mark.parametrize("text", [None, 3, b"a", ["a"]])
    def test_only_text_is_read(self, text: Any) -> None:
        with pytest.raises(QueryError, match="is text, not"):
            parse(text)

    @pytest.mark.timeout(20)
    @pytest.mark.parametrize("opening", ["(", "-", "2**", "abs(", "min(a,", "a+(", "a*-(", "a+"])
    @pytest.mark.parametrize("times", [MAX_DEPTH + 1, 2 * MAX_DEPTH + 1, 1400])
    def test_deep_nesting_is_refused(self, opening: str, times: int) -> None:
        closing = ")" * opening.count("(")
        if opening == "(" and times <= 2 * MAX_DEPTH:
            assert parse("(" * times + "a" + ")" * times) == parse("a")
            return
        with pytest.raises(QueryError, match=r"too deep|levels"):
            parse(opening * times + "a" + closing * times)

    @pytest.mark.timeout(20)
    @pytest.mark.parametrize("unit", ["`", "(", ")", "-", "9", "z", " ", "``", "1e", "a(", "**"])
    def test_long_text_is_refused_at_once(self, unit: str) -> None:
        with pytest.raises(QueryError) as caught:
            parse(unit * (MAX_LENGTH // len(unit)) + "$")
        assert len(str(caught.value)) < 500

    def test_the_longest_text_is_read(self) -> None:
        assert parse("a".ljust(MAX_LENGTH)) == parse("a")
        assert parse("z" * MAX_LENGTH).columns == ("z" * MAX_LENGTH,)

    @given(st.text())
    def test_random_text_gives_a_tree_or_a_query_error(self, text: str) -> None:
        parses_or_complains(text)

    @given(trees(EVERYTHING, FINITE), st.data())
    def test_damaged_text_gives_a_tree_or_a_query_error(self, tree: Node, data: Any) -> None:
        text = str(Expression(tree))
        at = data.draw(st.integers(0, len(text)))
        until = data.draw(st.integers(at, min(at + 3, len(text))))
        parses_or_complains(text[:at] + data.draw(st.text(max_size=3)) + text[until:])


def parses_or_complains(text: str) -> None:
    try:
        expression = parse(text)
    except QueryError as error:
        complaint = error
    else:
        assert parse(str(expression)) == expression
        return
    assert complaint.field == "score"
    assert complaint.fix


class TestEvaluate:
    @given(trees(ROUNDED, FINITE), st.lists(st.tuples(FINITE, FINITE, FINITE), min_size=1))
    def test_equals_plain_floats(self, tree: Node, rows: list[tuple[float, float, float]]) -> None:
        columns = dict(zip(COLUMNS, np.array(rows).T, strict=True))
        try:
            expected = [oracle(tree, dict(zip(COLUMNS, row, strict=True))) for row in rows]
        except ZeroDivisionError:
            reject()
        np.testing.assert_array_equal(Expression(tree).evaluate(columns), expected)

    @pytest.mark.parametrize("op", ["exp", "log", "log1p"])
    @given(x=st.floats(-50, 50))
    def test_functions_equal_those_of_math(self, op: str, x: float) -> None:
        try:
            expected = getattr(math, op)(x)
        except ValueError:
            expected = -math.inf if x == {"log": 0, "log1p": -1}[op] else math.nan
        got = parse(f"{op}(x)").evaluate({"x": np.array([x])})
        np.testing.assert_allclose(got, [expected], rtol=1e-14)

    @given(st.floats(-50, 50).filter(lambda x: abs(x) > 1e-9), st.floats(-9, 9))
    def test_powers_equal_those_of_math(self, x: float, y: float) -> None:
        expected = math.nan if x < 0 and not y.is_integer() else math.pow(x, y)
        got = parse("x ** y").evaluate({"x": np.array([x]), "y": np.array([y])})
        np.testing.assert_allclose(got, [expected], rtol=1e-13)

    def test_division_by_zero_gives_infinity_or_nan(self) -> None:
        got = parse("a / b").evaluate({"a": np.array([1.0, -1.0, 0.0]), "b": np.zeros(3)})
        np.testing.assert_array_equal(got, [math.inf, -math.inf, math.nan])

    def test_a_constant_has_a_value_for_every_row(self) -> None:
        assert parse("1 + 2").evaluate({"a": np.zeros(3)}).tolist() == [3.0, 3.0, 3.0]
        assert parse("1 + 2").evaluate({"a": np.zeros(0)}).tolist() == []

    def test_no_division_by_zero_in_norm(self) -> None:
        a = np.array([5.0, -7.0, np.nan, np.inf])
        assert parse("norm(a, 2, 2)").evaluate({"a": a})[:2].tolist() == [0.0, 0.0]
        assert not np.isfinite(parse("norm(a, 2, 2)").evaluate({"a": a})[2:]).any()

    def test_warns_of_nothing(self) -> None:
        a = np.array([0.0, -1.0, 1e308])
        got = parse("log(a) + a / 0 + exp(a) * a").evaluate({"a": a})
        assert not np.isfinite(got).any()

    def test_takes_whole_numbers(self) -> None:
        got = parse("a / 2").evaluate({"a": np.array([1, 3])})
        assert got.tolist() == [0.5, 1.5]

    def test_a_missing_column_is_named(self) -> None:
        with pytest.raises(BatchError, match="'b'") as caught:
            parse("a + b").evaluate({"a": np.zeros(1)})
        assert "a" in caught.value.fix

    def test_a_column_of_words_is_named(self) -> None:
        with pytest.raises(BatchError, match="'a' is not numeric"):
            parse("a").evaluate({"a": np.array(["x"])})

    def test_every_algebra_has_every_operator(self) -> None:
        assert NUMPY.keys() == INTERVALS.keys() == TRENDS.keys() == set(EVERYTHING)


@st.composite
def ranges_with_samples(
    draw: st.DrawFn, numbers: st.SearchStrategy[float]
) -> tuple[tuple[float, float], list[float]]:
    # Adding 0.0 makes a plain zero of -0.0, which hypothesis sorts before it.
    low, high = sorted((draw(numbers) + 0.0, draw(numbers) + 0.0))
    inside = st.floats(low, high) | st.sampled_from((low, high, -0.0 if low == 0 else low))
    return (low, high), draw(st.lists(inside, min_size=4, max_size=4))


class TestBounds:
    @given(
        trees(EVERYTHING, WHOLE | FINITE),
        ranges_with_samples(WHOLE | FINITE),
        ranges_with_samples(WHOLE | FINITE),
        WHOLE | FINITE,
    )
    def test_enclose_all_that_can_come(self, tree: Node, a: Any, b: Any, known: float) -> None:
        expression = Expression(tree)
        columns = {"total count": np.full(4, known)}
        low, high = expression.bounds(columns, {"a": a[0], "b": b[0]})
        values = expression.evaluate({**columns, "a": np.array(a[1]), "b": np.array(b[1])})
        defined = ~np.isnan(values)
        assert low.shape == high.shape == (4,)
        assert not np.isnan(low).any()
        assert not np.isnan(high).any()
        assert (low <= values)[defined].all()
        assert (values <= high)[defined].all()

    @given(trees(ROUNDED, FINITE), st.tuples(FINITE, FINITE, FINITE))
    def test_are_the_value_when_all_is_known(
        self, tree: Node, row: tuple[float, float, float]
    ) -> None:
        assume("/" not in str(Expression(tree)) and "sqrt" not in str(Expression(tree)))
        columns = {name: np.array([x]) for name, x in zip(COLUMNS, row, strict=True)}
        low, high = Expression(tree).bounds(columns, {})
        value = Expression(tree).evaluate(columns)
        assume(np.isfinite(value).all())
        assert low == value == high

    @pytest.mark.parametrize(
        ("text", "a", "expected"),
        [
            ("a", (1, 2), (1, 2)),
            ("-a", (1, 2), (-2, -1)),
            ("a * a", (-2, 3), (-6, 9)),
            ("a ** 2", (-2, 3), (0, 9)),
            ("a ** 2", (-3, -2), (4, 9)),
            ("a ** 3", (-2, 3), (-8, 27)),
            ("a ** 0", (-2, 3), (1, 1)),
            ("a ** (-2)", (-2, 1), (0.25, math.inf)),
            ("a ** (-1)", (2, 4), (0.25, 0.5)),
            ("a ** (-1)", (-4, -2), (-0.5, -0.25)),
            ("a ** (-1)", (-1, 1), (-math.inf, math.inf)),
            ("a ** 0.5", (4, 9), (2, 3)),
            ("a ** 0.5", (-1, 9), (-math.inf, math.inf)),
            ("2 ** a", (-1, 3), (0.5, 8)),
            ("0.5 ** a", (-1, 3), (0.125, 2)),
            ("1 / a", (2, 4), (0.25, 0.5)),
            ("1 / a", (0, 4), (-math.inf, math.inf)),
            ("1 / a", (-1, 4), (-math.inf, math.inf)),
            ("abs(a)", (-3, 2), (0, 3)),
            ("abs(a)", (-3, -2), (2, 3)),
            ("sqrt(a)", (4, 9), (2, 3)),
            ("sqrt(a)", (-1, 9), (-math.inf, math.inf)),
            ("log(a)", (0, 1), (-math.inf, 0)),
            ("log(a)", (-1, 1), (-math.inf, math.inf)),
            ("log1p(a)", (0, math.e - 1), (0, 1)),
            ("exp(a)", (-math.inf, 0), (0, 1)),
            ("min(a, 1)", (0, 5), (0, 1)),
            ("max(a, 1)", (0, 5), (1, 5)),
            ("clip(a, 1, 3)", (-9, 2), (1, 2)),
            ("norm(a, 0, 10)", (5, 20), (0.5, 2)),
            ("norm(a, 3, 3)", (-math.inf, math.inf), (0, 0)),
            ("floor(a)", (0.5, 2.5), (0, 2)),
            ("ceil(a)", (0.5, 2.5), (1, 3)),
            ("round(a)", (-0.5, 2.5), (0, 3)),
            ("positive(a)", (1, 2), (1, 1)),
            ("if(positive(a), 5, 7)", (1, 2), (5, 5)),
            ("if(positive(a), 5, 7)", (-1, 2), (5, 7)),
            ("if(any(positive(a), positive(-3)), a, 7)", (-2, 0), (7, 7)),
            ("0 * a", (-math.inf, math.inf), (0, 0)),
            ("a - a", (-math.inf, math.inf), (-math.inf, math.inf)),
        ],
    )
    def test_are_as_tight_as_known(
        self, text: str, a: tuple[float, float], expected: tuple[float, float]
    ) -> None:
        low, high = parse(text).bounds({}, {"a": a})
        np.testing.assert_allclose((low[0], high[0]), expected, rtol=1e-14, atol=1e-300)

    @pytest.mark.parametrize("text", ["exp(a)", "log(a)", "log1p(a)", "a ** 1.5"])
    def test_leave_room_for_the_last_bits(self, text: str) -> None:
        a = np.linspace(0.3, 0.9, 50)
        low, high = parse(text).bounds({"a": a}, {})
        value = parse(text).evaluate({"a": a})
        assert (low < value).all()
        assert (value < high).all()
        np.testing.assert_allclose(low, high, rtol=1e-14)

    def test_zero_may_be_negative(self) -> None:
        a = np.array([-0.0])
        for text in ("1 / a", "a ** (-1)", "a ** min(-1, a)"):
            low, _ = parse(text).bounds({}, {"a": (0.0, 1.0)})
            assert low <= parse(text).evaluate({"a": a})

    def test_ranges_may_differ_by_row(self) -> None:
        low, high = parse("a + 1").bounds({}, {"a": (np.array([0.0, 5.0]), np.array([1.0, 6.0]))})
        assert low.tolist() == [1.0, 6.0]
        assert high.tolist() == [2.0, 7.0]

    def test_a_range_wins_over_a_column(self) -> None:
        low, high = parse("a").bounds({"a": np.array([7.0, 8.0])}, {"a": (0, 1)})
        assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [1.0, 1.0])

    def test_an_unknown_value_may_be_anything(self) -> None:
        low, high = parse("a + 1").bounds({"a": np.array([np.nan])}, {})
        assert (low[0], high[0]) == (-math.inf, math.inf)

    def test_no_rows_no_bounds(self) -> None:
        low, high = parse("a + b").bounds({"a": np.empty(0)}, {"b": (0, 1)})
        assert len(low) == len(high) == 0


class TestMonotone:
    @given(
        trees(ROUNDED, WHOLE),
        st.sampled_from([None, "exp", "log", "log1p"]),
        ranges_with_samples(MODEST | WHOLE),
        ranges_with_samples(MODEST | WHOLE),
    )
    def test_agrees_with_sampling(self, tree: Node, outer: str | None, a: Any, b: Any) -> None:
        expression = Expression(Call(outer, (tree,)) if outer else tree)
        direction = expression.monotone("a", {"a": a[0], "b": b[0]})
        assume(direction is not None)
        assert direction is not None
        columns = {"a": np.sort(a[1]), "b": np.full(4, b[1][0]), "total count": np.full(4, 2.5)}
        values = expression.evaluate(columns)
        values = values[np.isfinite(values)]
        slack = 1e-12 * np.abs(values[1:]) if outer else 0.0
        steps = np.diff(values)
        assert (steps * direction >= -slack).all() if direction else (steps == 0).all()

    @pytest.mark.parametrize(
        ("text", "a", "expected"),
        [
            ("a", None, 1),
            ("-a", None, -1),
            ("3 - 2 * a", None, -1),
            ("b + a", None, 1),
            ("b", None, 0),
            ("0 * a", None, 0),
            ("a - a", None, None),
            ("a * b", None, None),
            ("a * a", None, None),
            ("a * a", (0, 9), 1),
            ("a * -a", (0, 9), -1),
            ("a / 2", None, 1),
            ("a / -2", None, -1),
            ("1 / a", None, None),
            ("1 / a", (0, 9), None),
            ("1 / a", (1, 9), -1),
            ("-1 / a", (-9, -1), 1),
            ("a ** 3", None, 1),
            ("a ** 2", None, None),
            ("a ** 2", (0, 9), 1),
            ("a ** 2", (-9, 0), -1),
            ("a ** 0", None, 0),
            ("a ** (-1)", (1, 9), -1),
            ("a ** (-1)", (-1, 9), None),
            ("a ** (-2)", (-9, -1), 1),
            ("a ** 0.5", (0, 9), 1),
            ("a ** 0.5", None, None),
            ("a ** (-0.5)", (1, 9), -1),
            ("2 ** a", None, 1),
            ("0.5 ** a", None, -1),
            ("b ** a", None, None),
            ("(-2) ** a", None, None),
            ("abs(a)", None, None),
            ("abs(a)", (0, 9), 1),
            ("abs(a - 9)", (0, 9), -1),
            ("sqrt(a)", None, 1),
            ("log(a) + log1p(a) + exp(a)", None, 1),
            ("min(a, b, 2 * a)", None, 1),
            ("max(a, -a)", None, None),
            ("clip(a, 0, 1)", None, 1),
            ("clip(0, a, 1)", None, 1),
            ("norm(-a, 0, 1)", None, -1),
            ("norm(a, 1, 1)", None, 0),
            ("round(a) + floor(a) + ceil(-b)", None, 1),
            ("ceil(-a)", None, -1),
            ("positive(3 - a)", None, -1),
            ("if(positive(a), 2, 1)", None, 1),
            ("if(positive(a), 1, 2)", None, -1),
            ("if(positive(a), a, 0)", None, None),
            ("if(positive(b), a, 2 * a)", None, 1),
            ("if(positive(b), a, -a)", None, None),
            ("if(all(a, b), 2, 1)", None, 1),
        ],
    )
    def test_is_told_from_the_structure(
        self, text: str, a: tuple[float, float] | None, expected: int | None
    ) -> None:
        assert parse(text).monotone("a", {"a": a} if a else None) == expected
