"""Expressions: conditions on the structured result of a node, in a small subset of Python.

An expression has one name, `result`. It reads fields (`result.score`, `result["a b"]`, `[0]`),
compares, calculates and calls FUNCTIONS. It has no loops, no powers, no methods and no access to
other values, so its time and memory are limited by its own length and the size of the value. The
same value always gives the same answer.
"""

import ast
import operator
from collections.abc import Callable
from functools import cache
from typing import Any, Final

LONGEST_EXPRESSION: Final = 500
NAME: Final = "result"
CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "len": len,
    "min": min,
    "max": max,
    "sum": sum,
    "abs": abs,
    "round": round,
    "lower": str.lower,
    "number": float,
    "text": str,
}
PARTS: Final = (
    *(ast.Expression, ast.Expr, ast.Load, ast.Name, ast.Constant, ast.Attribute, ast.Subscript),
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add, ast.Sub),
    *(ast.Mult, ast.Div, ast.FloorDiv, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt),
    *(ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.IfExp, ast.Call, ast.List, ast.Tuple),
)
POSSIBLE: Final = (
    f"possible: {NAME}, its fields, numbers, texts, lists, comparisons, and or not in, + - * / //, "
    f"if else, {', '.join(FUNCTIONS)}"
)
SHOWN: Final = 200


class ExpressionFailed(ValueError):
    """An expression cannot be evaluated for a value; the text says why."""


def check_expression(text: str) -> str:
    """Return the expression if it can be evaluated; raises ValueError with the invalid part."""
    if len(text) > LONGEST_EXPRESSION:
        raise ValueError(f"an expression has at most {LONGEST_EXPRESSION} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" (column {error.offset})" if isinstance(error, SyntaxError) else ""
        what = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        raise ValueError(f"{text!r} is not an expression: {what}{where}") from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        _check_part(text, node, is_called=id(node) in called)
    return text


def _check_part(text: str, node: ast.AST, *, is_called: bool) -> None:
    if not isinstance(node, PARTS):
        raise ValueError(f"{text!r}: {type(node).__name__} is not possible here ({POSSIBLE})")
    known = FUNCTIONS if is_called else {NAME: None, **CONSTANTS}
    if isinstance(node, ast.Name) and node.id not in known:
        what = "function" if is_called else "name"
        raise ValueError(f"{text!r}: unknown {what} '{node.id}' ({POSSIBLE})")
    if isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.keywords):
        raise ValueError(f"{text!r}: only {', '.join(FUNCTIONS)} can be called, by position")
    is_odd = isinstance(node, ast.Constant) and not isinstance(
        node.value, str | int | float | bool | None
    )
    if is_odd:
        raise ValueError(f"{text!r}: this constant is not possible ({POSSIBLE})")


def evaluate(text: str, result: Any) -> Any:
    """Return the result of a checked expression for a JSON value; raises ExpressionFailed."""
    try:
        answer = _evaluator()(text.strip(), result)
    except ExpressionFailed:
        raise
    except KeyError as error:
        raise ExpressionFailed(f"there is no {error} in it") from None
    except RecursionError:
        raise ExpressionFailed("it is nested too deeply") from None
    except Exception as error:  # all type errors are reported alike
        raise ExpressionFailed(f"{error}"[:SHOWN]) from None
    return answer


@cache
def _evaluator() -> Callable[[str, Any], Any]:
    """Return the cached function that evaluates (expression, JSON value).

    It imports simpleeval, so the import happens at the first evaluation.
    """
    from simpleeval import EvalWithCompoundTypes, safe_add, safe_mult

    operators = {
        ast.Add: safe_add,
        ast.Sub: operator.sub,
        ast.Mult: safe_mult,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.USub: operator.neg,
        ast.Not: operator.not_,
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Is: operator.is_,
        ast.IsNot: operator.is_not,
        ast.In: lambda a, b: a in b,
        ast.NotIn: lambda a, b: a not in b,
    }

    class FieldsOnly(EvalWithCompoundTypes):  # type: ignore[misc]  # it ships no types
        """An evaluator whose attributes are fields of JSON objects, never Python attributes."""

        def _eval_attribute(self, node: ast.Attribute) -> Any:
            value = self._eval(node.value)
            if not isinstance(value, dict):
                raise ExpressionFailed(f"{_shown(value)} has no field '{node.attr}'")
            if node.attr not in value:
                known = ", ".join(map(str, value)) or "none"
                raise ExpressionFailed(f"there is no field '{node.attr}' (has: {known})"[:SHOWN])
            return value[node.attr]

    def run(text: str, result: Any) -> Any:
        names = {NAME: result, **CONSTANTS}
        return FieldsOnly(operators=operators, functions=dict(FUNCTIONS), names=names).eval(text)

    return run


def _shown(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else kinds.get(type(value), "a number")
