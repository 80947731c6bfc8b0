"""The slot codec: prompts and programs in which argument names are slots.

A small model trained on programs cannot copy a name it has never seen; it can copy a slot. So the prompt states what
each argument *means* (its kind) and programs refer to it by position; the codec restores the real names. Slots are
written `<a0>`, `<a1>`, …; a prompt is

    <m1><a0>node<a1>nodes<a2>matrix->node<p>
     c = <a1>
     …<c>

an operator, the kind of every argument, the kind of the result, one `<p>` block per parent, and `<c>`, after which the
child's body follows. Bodies are written as `ast.unparse` writes them, without comments and docstrings, indented by
one space: one program has one spelling.

Between the signature and the parents there may be hints: idioms (`coevo.idioms`) that the child shall use and idioms
that it shall avoid, `…->node<u>exp rank<x>!ratio !power<p>…`; either section is there only if it names one. The mark
`!` makes the two senses of an idiom two words: a small model does not learn to tell them apart by the section alone.

Only the body of the heuristic function is representable. A parent that leans on other code of its file is refused.
"""

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence

from coevo.content import Signature
from coevo.idioms import IDIOMS
from coevo.interfaces import Guidance

PARENT_TOKEN = "<p>"
CHILD_TOKEN = "<c>"
USE_TOKEN = "<u>"
AVOID_TOKEN = "<x>"
RESERVED = re.compile(r"<(?:p|c|u|x|i1|e1|e2|m1|m2|eos|pad)>")
"""Text of special tokens; a program that contains it (inside a string) is refused."""

_SLOT = re.compile(r"<a(\d+)>")
_PLACEHOLDER = "slot_{}_of_codec"
_PLACEHOLDER_PATTERN = re.compile(r"\bslot_(\d+)_of_codec\b")
_IMPORT = "import numpy as np"


def encode_prompt(
    operator: str,
    signature: Signature,
    parents: Sequence[str],
    guidance: Guidance = Guidance(),  # noqa: B008  (immutable)
) -> str:
    """The prompt for one child, ending in `<c>`.

    Args:
        operator: Name of the operator, e.g. "m1".
        signature: The function the child has to define.
        parents: Complete Python sources, in prompt order.
        guidance: Its idioms are the hints; its text is for models that read words and is left out.

    Raises:
        ValueError: If a parent does not parse, defines no such function, or is not representable; if a hint is no
            idiom.
    """
    try:
        blocks = "".join(f"{PARENT_TOKEN}\n{encode_body(signature, parent)}" for parent in parents)
    except (RecursionError, MemoryError) as error:
        raise ValueError("a parent is nested too deeply to be shown") from error
    return f"<{operator}>{encode_signature(signature)}{encode_hints(guidance)}{blocks}{CHILD_TOKEN}"


def encode_signature(signature: Signature) -> str:
    """The signature as slots with kinds, e.g. `<a0>item<a1>bins->vector`."""
    kinds = "".join(f"<a{position}>{argument.kind}" for position, argument in enumerate(signature.arguments))
    return f"{kinds}->{signature.returns.kind}"


def encode_hints(guidance: Guidance) -> str:
    """The idioms to use and to avoid, e.g. `<u>exp rank<x>!ratio`, in the order of `IDIOMS`; empty without any.

    Raises:
        ValueError: If one of them is no idiom.
    """
    unknown = sorted({*guidance.use, *guidance.avoid} - {*IDIOMS})
    if unknown:
        raise ValueError(f"expected idioms of the list in coevo.idioms as hints, got {', '.join(unknown)}")
    use = [idiom for idiom in IDIOMS if idiom in guidance.use]
    avoid = [f"!{idiom}" for idiom in IDIOMS if idiom in guidance.avoid]
    sections = ((USE_TOKEN, use), (AVOID_TOKEN, avoid))
    return "".join(f"{token}{' '.join(words)}" for token, words in sections if words)


def encode_body(signature: Signature, source: str) -> str:
    """The body of the heuristic function of a Python source, in slots.

    Raises:
        ValueError: If the source does not parse, defines no such function, or is not representable.
    """
    function = _find_function(signature, source)
    names = _argument_names(signature, function)
    body = _without_docstrings(function).body
    renaming = {name: _PLACEHOLDER.format(position) for position, name in enumerate(names)}
    module = _rename(ast.Module(body=body, type_ignores=[]), renaming)
    text = _PLACEHOLDER_PATTERN.sub(r"<a\1>", _unparse(module))
    if RESERVED.search(text) or not _is_faithful(text, module):
        raise ValueError(f"the body of {signature.function} cannot be written in slots: it contains slot-like text")
    return text


def decode_child(signature: Signature, text: str) -> str:
    """A completion as a full Python source.

    Slots get the real names; a local name that would shadow an argument gets a trailing underscore. Text that is not a
    program stays text: it fails as a candidate, never here.
    """
    names = [argument.name for argument in signature.arguments]
    body = _with_names(text.strip("\n"), names)
    return f"{_IMPORT}\n\n\n{signature.definition}\n{textwrap.indent(body, '    ')}\n"


def _with_names(text: str, names: Sequence[str]) -> str:
    slots = _SLOT.sub(lambda match: _PLACEHOLDER.format(match[1]), text)
    try:
        module = _parse_body(slots)
        module = _rename(module, {name: f"{name}_" for name in names})
        module = _rename(module, {_PLACEHOLDER.format(position): name for position, name in enumerate(names)})
        return ast.unparse(ast.fix_missing_locations(module))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _SLOT.sub(lambda match: names[int(match[1])] if int(match[1]) < len(names) else match[0], text)


def _parse_body(text: str) -> ast.Module:
    """The statements of an indented body; `return` is legal to the parser anywhere."""
    block = ast.parse(f"if 1:\n{text}").body
    if len(block) != 1 or not isinstance(block[0], ast.If) or block[0].orelse:
        raise ValueError("the text leaves its block")
    return ast.Module(body=block[0].body, type_ignores=[])


def _unparse(module: ast.Module) -> str:
    text = ast.unparse(ast.fix_missing_locations(module))
    return "\n".join(
        f" {' ' * ((len(line) - len(line.lstrip(' '))) // 4)}{line.lstrip(' ')}" for line in text.split("\n")
    )


def _is_faithful(text: str, module: ast.Module) -> bool:
    """Whether the text parses back to the module: multi-line strings and slot-like text do not."""
    try:
        again = _parse_body(_SLOT.sub(lambda match: _PLACEHOLDER.format(match[1]), text))
    except (SyntaxError, ValueError):
        return False
    return ast.dump(again) == ast.dump(module)


def _find_function(signature: Signature, source: str) -> ast.FunctionDef:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(
            f"expected Python that defines {signature.function}, got text that does not parse: {error}"
        ) from error
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == signature.function]
    if len(found) != 1 or found[0].decorator_list:
        raise ValueError(f"expected one undecorated function {signature.function} at the top level, found {len(found)}")
    outside = {name for node in tree.body if node is not found[0] for name in _bound_names(node)} - {"np"}
    used = {node.id for part in found[0].body for node in ast.walk(part) if isinstance(node, ast.Name)}
    if outside & used:
        raise ValueError(
            f"{signature.function} leans on {sorted(outside & used)} outside its body, which slots cannot carry"
        )
    return found[0]


def _bound_names(statement: ast.stmt) -> set[str]:
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _argument_names(signature: Signature, function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    plain = [argument.arg for argument in arguments.posonlyargs + arguments.args]
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or len(plain) != len(signature.arguments):
        count, name = len(signature.arguments), signature.function
        raise ValueError(f"expected {count} plain arguments of {name}, got ({ast.unparse(arguments)})")
    return plain


def _without_docstrings(function: ast.FunctionDef) -> ast.FunctionDef:
    for node in ast.walk(function):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bare = [part for part in node.body if not _is_text(part)]
            node.body = bare or [ast.Pass()]
    return function


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _rename(module: ast.Module, names: Mapping[str, str]) -> ast.Module:
    """Replace identifiers everywhere they are bound or read (not attributes, keywords or strings)."""
    for node in ast.walk(module):
        for field in ("id", "arg", "name", "asname", "rest"):
            value = getattr(node, field, None)
            is_fixed = isinstance(node, ast.keyword) or (isinstance(node, ast.alias) and field == "name")
            if isinstance(value, str) and value in names and not is_fixed:
                setattr(node, field, names[value])
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [names.get(name, name) for name in node.names]
    return module
