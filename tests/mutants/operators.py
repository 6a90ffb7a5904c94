"""Kinds of faults: comparisons, arithmetic, logic, constants, calls with unused results, conditions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
NAMES = {"min": "max", "max": "min", "ceil": "floor", "floor": "ceil", "any": "all", "all": "any", "minimum": "maximum"}
NAMES |= {"maximum": "minimum", "argmin": "argmax", "argmax": "argmin", "sum": "max", "cumsum": "sort"}
COMPILED = ("kernel", "exact_kernel")
"""Decorators of loops that numba compiles."""


@dataclass(frozen=True)
class Mutant:
    """One fault in one place.

    Parameters
    ----------
    file : str
        Path below the root of the repository.
    line, end : int
        First and last line of its statement.
    function : str
        Qualified name of the function around it; empty at the level of the module or a class.
    compiled : bool
        Whether that function is compiled.
    operator, before, after : str
        Kind of fault, and the text before and after.
    span : (int, int)
        Place of `before` in the file, in bytes.
    column : int
        Place of `before` in its line.
    """

    file: str
    line: int
    end: int
    function: str
    compiled: bool
    operator: str
    before: str
    after: str
    span: tuple[int, int]
    column: int

    @property
    def package(self) -> str:
        """Folder below ``deniable`` with the file; the file itself if it is in no folder."""
        parts = Path(self.file).parts
        return parts[2] if len(parts) > 3 else Path(self.file).stem

    def applied(self, source: bytes) -> bytes:
        """Return the file with the fault."""
        start, end = self.span
        return source[:start] + self.after.encode() + source[end:]

    def as_json(self) -> dict[str, object]:
        """Return the mutant as JSON data, without its span."""
        return {key: value for key, value in asdict(self).items() if key not in ("span", "end")}


Change = tuple[str, ast.expr]
"""(kind of fault, replacement of the expression)."""


def faults(node: ast.AST) -> Iterator[Change]:
    """Yield the faults of one expression, without the faults of its parts."""
    match node:
        case ast.Compare(ops=[comparison]) if type(comparison) in COMPARISONS:
            yield "comparison", _with(node, "ops", [COMPARISONS[type(comparison)]()])
        case ast.BinOp(op=operator) if type(operator) in ARITHMETIC and not _text(node):
            yield "arithmetic", _with(node, "op", ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=logic):
            other = ast.Or() if isinstance(logic, ast.And) else ast.And()
            yield "logic", _with(node, "op", other)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "logic" if isinstance(node.op, ast.Not) else "arithmetic", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", ast.Constant(2 * value if value else 1.0)
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield "function", _with(node, "func", ast.Name(NAMES[name]))
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in NAMES:
            yield "function", _with(node, "func", ast.Attribute(owner, NAMES[name]))
        case ast.IfExp(test=test):
            yield "condition", _with(node, "test", ast.UnaryOp(ast.Not(), test))


def _with(node: ast.expr, part: str, value: object) -> ast.expr:
    """Return the expression with a new value for one of its parts."""
    new = copy.copy(node)
    setattr(new, part, value)
    return new


def _text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(isinstance(side, ast.JoinedStr | ast.List) or _is_text(side) for side in sides)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


class _Finder(ast.NodeVisitor):
    """Collect the mutants of one file; annotations, messages, texts and imports are left out."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.found: list[Mutant] = []
        self.names: list[str] = []
        self.in_function = self.compiled = False
        self.statement: ast.stmt | None = None
        starts = [0]
        for line in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def note(self, node: ast.expr | ast.stmt, operator: str, after: str) -> None:
        start, end = self.span(node)
        before = self.source[start:end].decode()
        around = self.statement or node
        # For a compound statement only the head counts, because its body has lines of its own.
        last = node.end_lineno if isinstance(around, ast.If | ast.While | ast.For | ast.With) else around.end_lineno
        assert isinstance(around, ast.stmt | ast.expr)
        function = ".".join(self.names) if self.in_function else ""
        self.found.append(
            Mutant(
                *(self.file, around.lineno, last or node.lineno, function, self.compiled),
                *(operator, before, after, (start, end), node.col_offset),
            )
        )

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
            return
        outer = self.statement
        if isinstance(node, ast.stmt):
            self.statement = node
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and self.in_function:
            self.note(node, "statement", "pass")
        if isinstance(node, ast.expr):
            for operator, new in faults(node):
                self.note(node, operator, f"({ast.unparse(ast.fix_missing_locations(new))})")
        super().generic_visit(node)
        self.statement = outer

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            outer, self.statement = self.statement, node
            self.visit(node.value)
            self.statement = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.append(node.name)
        for part in node.body:
            self.visit(part)
        self.names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = (self.in_function, self.compiled)
        self.names.append(node.name)
        self.in_function = True
        self.compiled |= any(isinstance(one, ast.Name) and one.id in COMPILED for one in node.decorator_list)
        for part in node.body:
            self.visit(part)
        self.names.pop()
        self.in_function, self.compiled = outer


def mutants(root: Path, file: Path) -> list[Mutant]:
    """Return all mutants of one file, in the order of its text."""
    source = file.read_bytes()
    finder = _Finder(str(file.relative_to(root)), source)
    finder.visit(ast.parse(source))
    return finder.found


def compiles(mutant: Mutant, root: Path) -> bool:
    """Return whether the file with the fault is valid Python."""
    try:
        ast.parse(mutant.applied((root / mutant.file).read_bytes()))
    except SyntaxError:
        return False
    return True
