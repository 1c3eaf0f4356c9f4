"""The API reference, read from the source: public names, their signatures, docstrings and the notes under fields.

``docs/hooks.py`` puts it into the site; ``python docs/api.py ROOM`` prints one room's page. Nothing is imported: the
notes under fields are in no docstring, and signatures read best as they are written.
"""

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = "bayesbellman"
ROOMS = {
    "doors": "What users start from: estimators in scikit-learn's idiom, agents in Stable-Baselines3's",
    "control": "Agents as pure objects, and the compiled loop that trains them",
    "evaluation": "Estimators of ω for policy evaluation, and their objectives",
    "posterior": "Posteriors over Bellman operators",
    "data": "Interaction, replay, tasks and true values",
    "envs": "Environments as pure dynamics",
    "nn": "Networks, policies, prior functions and features",
    "core": "Types, Bellman functions, trees, time-scales and linear algebra",
    "compat": "Other people's frameworks: Gymnasium, Parquet and bsuite",
}
"""The rooms whose public names are documented, from the door to the ground"""
LONGEST = 100
"""Characters of a signature on one line"""


@dataclass(frozen=True)
class Symbol:
    """A public name: a class, a function, a constant, or a class's method, property or field."""

    name: str
    kind: str
    signature: str
    text: str
    members: tuple["Symbol", ...] = ()
    bases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Module:
    """A module's docstring and what it defines; ``exported`` are names that it hands on from elsewhere."""

    name: str
    text: str
    symbols: tuple[Symbol, ...]
    exported: tuple[tuple[str, str], ...] = ()


# -- reading -----------------------------------------------------------------------------------------------------------


def modules_of(room: str) -> list[Module]:
    """A room's modules in the order of their names; those that define nothing public are left out."""
    files = sorted((SOURCE / PACKAGE / room).rglob("*.py"))
    found = [read_module(file) for file in files if not file.stem.startswith("_") or file.stem == "__init__"]
    return [module for module in found if module.symbols or module.exported]


def read_module(file: Path) -> Module:
    """What a file defines."""
    parts = file.relative_to(SOURCE).with_suffix("").parts
    tree = ast.parse(file.read_text(encoding="utf-8"))
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    exported = (
        (alias.name, f"{node.module}.{alias.name}")
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name  # `import X as X`: handed on
    )
    return Module(name, ast.get_docstring(tree) or "", tuple(_symbols(tree.body)), tuple(exported))


def public_names() -> dict[str, str]:
    """The package's own names, each with the module that defines it: the table in its ``__init__``."""
    tree = ast.parse((SOURCE / PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and _target(node) == "_PUBLIC":
            return ast.literal_eval(node.value)
    raise ValueError("bayesbellman/__init__.py has no table _PUBLIC")


def _symbols(body: list[ast.stmt]) -> Iterator[Symbol]:
    for node, note in _with_notes(body):
        if isinstance(node, ast.If):
            yield from _symbols(node.orelse or node.body)  # after `if TYPE_CHECKING`: what holds at run time
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield _function(node, "function")
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield _class(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            name = _target(node)
            if name and not name.startswith("_") and not _is_type_variable(node):
                yield Symbol(name, "constant", _shortened(ast.unparse(node)), note)


def _with_notes(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Statements, each with the string that stands below it."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        text = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            text = textwrap.dedent(after.value.value).strip()
        yield node, text


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _is_type_variable(node: ast.Assign | ast.AnnAssign) -> bool:
    return isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"


def _shortened(text: str) -> str:
    return text if len(text) <= 3 * LONGEST else text[: 3 * LONGEST] + " ..."


def _class(node: ast.ClassDef) -> Symbol:
    members: list[Symbol] = []
    start = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    for child, note in _with_notes(node.body):
        if isinstance(child, ast.AnnAssign) and not _target(child).startswith("_"):
            default = f" = {_default(child.value)}" if child.value is not None else ""
            signature = f"{_target(child)}: {ast.unparse(child.annotation)}{default}"
            members.append(Symbol(_target(child), "field", signature, note))
        elif isinstance(child, ast.FunctionDef) and _is_shown(child):
            members.append(_method(child))
    bases = tuple(ast.unparse(base) for base in node.bases)
    signature = f"class {node.name}({', '.join(bases)})" if bases else f"class {node.name}"
    if start is not None:
        signature = _call(f"{node.name}", _arguments(start.args)[1:])
    return Symbol(node.name, "class", signature, ast.get_docstring(node) or "", tuple(members), bases)


def _is_shown(node: ast.FunctionDef) -> bool:
    """Public methods and calling; the second half of a property is not shown again."""
    is_setter = any(ast.unparse(decorator).endswith(".setter") for decorator in node.decorator_list)
    return (not node.name.startswith("_") or node.name == "__call__") and not is_setter


def _default(node: ast.expr) -> str:
    """A field's default; ``eqx.field(static=True, default=x)`` is x, and static."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "eqx.field":
        named = {word.arg: ast.unparse(word.value) for word in node.keywords}
        static = "static" if named.get("static") == "True" else ""
        return ", ".join(part for part in (named.get("default", ""), static) if part)
    return ast.unparse(node)


def _method(node: ast.FunctionDef) -> Symbol:
    marks = {ast.unparse(decorator) for decorator in node.decorator_list}
    kind = "property" if "property" in marks else "class method" if "classmethod" in marks else "method"
    if "abc.abstractmethod" in marks:
        kind = f"abstract {kind}"
    return _function(node, kind)


def _function(node: ast.FunctionDef, kind: str) -> Symbol:
    arguments = _arguments(node.args)
    if arguments and kind != "function" and re.match(r"(self|cls)\b", arguments[0]):
        arguments = arguments[1:]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    text = ast.get_docstring(node) or ""
    if "property" in kind:
        return Symbol(node.name, kind, f"{node.name}{returned}", text)
    return Symbol(node.name, kind, _call(node.name, arguments, returned), text)


def _arguments(given: ast.arguments) -> list[str]:
    """Each as it is written, with its default; the star before keyword-only ones among them."""
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    parts = [_argument(a, d) for a, d in zip(plain, defaults, strict=True)]
    if given.vararg is not None:
        parts.append("*" + _argument(given.vararg, None))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [_argument(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg is not None:
        parts.append("**" + _argument(given.kwarg, None))
    return parts


def _argument(node: ast.arg, default: ast.expr | None) -> str:
    text = node.arg if node.annotation is None else f"{node.arg}: {ast.unparse(node.annotation)}"
    return text if default is None else f"{text} = {ast.unparse(default)}"


def _call(name: str, arguments: list[str], returned: str = "") -> str:
    line = f"{name}({', '.join(arguments)}){returned}"
    if len(line) <= LONGEST:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){returned}"


# -- writing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Index:
    """Where each name is documented, and each class by its name, to find what it inherits."""

    places: dict[str, str]
    """Full name to page, for names that a page has an anchor for"""
    full: dict[str, list[str]]
    """Short name to full names"""
    classes: dict[str, Symbol]

    @classmethod
    def of(cls, rooms: dict[str, list[Module]]) -> "Index":
        places: dict[str, str] = {}
        full: dict[str, list[str]] = {}
        classes: dict[str, Symbol] = {}
        for room, modules in rooms.items():
            for module in modules:
                for symbol in module.symbols:
                    name = f"{module.name}.{symbol.name}"
                    places[name] = room
                    full.setdefault(symbol.name, []).append(name)
                    if symbol.kind == "class":
                        classes.setdefault(symbol.name, symbol)
        return cls(places, full, classes)

    def inherited(self, symbol: Symbol) -> Iterator[Symbol]:
        """The classes above one, nearest first, as far as they are ours."""
        for base in symbol.bases:
            above = self.classes.get(base.split("[")[0])
            if above is not None and above is not symbol:
                yield above
                yield from self.inherited(above)

    def text_of(self, owner: Symbol, member: Symbol) -> str:
        """A method's docstring, or that of the method it implements."""
        if member.text:
            return member.text
        promised = (m for above in self.inherited(owner) for m in above.members if m.name == member.name)
        return next((m.text for m in promised if m.text), "")


def read_all() -> dict[str, list[Module]]:
    """Every documented room's modules."""
    return {room: modules_of(room) for room in ROOMS}


def pages() -> dict[str, str]:
    """The Markdown of each page by its path in the site: one page a room, and what ``api.md`` is completed by."""
    rooms = read_all()
    index = Index.of(rooms)
    found = {f"api/{room}.md": room_page(room, rooms[room], index) for room in ROOMS}
    return {**found, "api.md": front_page(index)}


def front_page(index: Index) -> str:
    """The package's own names in full, and the rooms."""
    lines = ["## `bayesbellman`", ""]
    for name, module in public_names().items():
        source = read_module(SOURCE.joinpath(*module.split(".")).with_suffix(".py"))
        symbol = next(symbol for symbol in source.symbols if symbol.name == name)
        lines += _of_symbol(symbol, PACKAGE, index, "api/", level=3)
        for above in index.inherited(symbol):
            names = ", ".join(f"`{member.name}`" for member in above.members)
            place = _link(index, above.name, "api/")
            if names and place:
                lines += [f"From {place}: {names}.", ""]
    lines += [
        '### <span id="bayesbellman.__version__">`__version__`</span>',
        "",
        "The package's version, a string.",
        "",
    ]
    lines += ["## Rooms", "", "| room | what is in it |", "|---|---|"]
    lines += [f"| [`bayesbellman.{room}`](api/{room}.md) | {what} |" for room, what in ROOMS.items()]
    return "\n".join([*lines, ""])


def room_page(room: str, modules: list[Module], index: Index) -> str:
    """All public names of a room, module by module."""
    lines = [f"# `{PACKAGE}.{room}`", "", f"{ROOMS[room]}.", ""]
    for module in modules:
        lines += [f"## `{module.name}` {{: #{module.name} }}", "", markdown(module.text, index, ""), ""]
        for name, origin in module.exported:
            page = index.places.get(origin)
            lines += [f"- [`{name}`]({page}.md#{origin})" if page else f"- `{name}`"]
        lines += [""] if module.exported else []
        for symbol in module.symbols:
            lines += _of_symbol(symbol, module.name, index, "", level=3)
    return "\n".join(lines)


def _of_symbol(symbol: Symbol, module: str, index: Index, way: str, level: int) -> list[str]:
    anchor = f"{module}.{symbol.name}"
    lines = [f"{'#' * level} `{symbol.name}` {{: #{anchor} }}", "", *_code(symbol.signature), ""]
    if symbol.text:
        lines += [markdown(symbol.text, index, way), ""]
    fields = [member for member in symbol.members if member.kind == "field"]
    if fields:
        lines += ["| field | |", "|---|---|"]
        lines += [f"| {_cell_code(f.signature)} | {_cell(markdown(f.text, index, way))} |" for f in fields]
        lines += [""]
    for member in symbol.members:
        if member.kind != "field":
            place = f"{anchor}.{member.name.strip('_')}"  # in an anchor Markdown takes two underscores for emphasis
            lines += [f"{'#' * (level + 1)} `{member.name}` {{: #{place} }}", ""]
            lines += [f"*{member.kind}*", ""] if member.kind != "method" else []
            lines += [*_code(member.signature), "", markdown(index.text_of(symbol, member), index, way), ""]
    return lines


def _code(text: str) -> list[str]:
    return ["```python", text, "```"]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _cell_code(text: str) -> str:
    return f"`{_cell(text)}`"


def markdown(text: str, index: Index, way: str) -> str:
    """A docstring as Markdown: sections become lists, examples become blocks, names become links."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.split("\n")
        if len(lines) > 1 and re.fullmatch(r"-{3,}", lines[1].strip()):
            blocks += [f"**{lines[0].strip()}**", _definitions(lines[2:], index, way)]
        elif lines[0].lstrip().startswith(">>>"):
            blocks.append("\n".join(["```pycon", textwrap.dedent(block), "```"]))
        elif all(line.startswith("    ") for line in lines):
            blocks.append("\n".join(["```text", textwrap.dedent(block), "```"]))
        else:
            blocks.append(_prose(block, index, way))
    return "\n\n".join(part for part in blocks if part)


def _definitions(lines: list[str], index: Index, way: str) -> str:
    """NumPy's way to describe parameters: names, and indented below them what they mean."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" "):
            found[-1][1].append(line.strip())
        else:
            found.append((line.strip(), []))
    items = []
    for names, about in found:
        titles = ", ".join(f"`{name.strip()}`" for name in names.split(","))
        items.append(f"- {titles}: {_prose(' '.join(about), index, way)}")
    return "\n".join(items)


def _prose(text: str, index: Index, way: str) -> str:
    """Outside code, what Markdown would take for its own is made plain; a name in code that is documented is a link."""
    parts = re.split(r"(``.+?``|`[^`]+`|\*\*[^*]+\*\*|(?<!\w)\*\w[^*]*\*(?!\w))", text, flags=re.DOTALL)
    return "".join(_linked(part, index, way) if part.startswith(("`", "*")) else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([*<\[\]])", r"\\\1", text)


def _linked(code: str, index: Index, way: str) -> str:
    if code.startswith(("``", "*")):
        return " ".join(code.split())
    return _link(index, code.strip("`"), way) or code


def _link(index: Index, name: str, way: str) -> str:
    """To a name's place, if it is documented in one place only."""
    full = index.full.get(name, []) if "." not in name else [name] if name in index.places else []
    return f"[`{name}`]({way}{index.places[full[0]]}.md#{full[0]})" if len(full) == 1 else ""


if __name__ == "__main__":
    print(pages()[f"api/{sys.argv[1]}.md"])
