"""How people write heuristics that return a matrix."""

from coevo.engines.embedded.pen import Pen, Style
from coevo.engines.embedded.render import ANGLES

_PAIR = "{demands}[@i] + {demands}[@j]"


def _double_loop(pen: Pen) -> str:
    source = "matrix" if "matrix" in pen.slots else "demands"
    size = pen.pick(f"len({{{source}}})", f"{{{source}}}.shape[0]")
    same = "np.zeros_like({matrix})" if source == "matrix" else "np.ones((@n, @n))"
    make = pen.pick("np.zeros((@n, @n))", same)
    lines, opening = _inner_lines(pen)
    return f"{opening} @n = {size}\n @s = {make}\n for @i in range(@n):\n  for @j in range(@n):\n{lines}\n return @s"


def _inner_lines(pen: Pen) -> tuple[str, str]:
    """What the inner loop does, and lines it needs before the loops."""
    cell = pen.pick("@s[@i, @j]", "@s[@i][@j]")
    if pen.chance(0.35):
        return _classical_lines(pen, cell), ""
    guard = pen.pick("", "   if @i == @j:\n    continue\n")
    lines = pen.score_lines("   ").replace("@s =", f"{cell} =")
    return guard + lines, f"{ANGLES}\n" if "t[" in lines else ""


def _classical_lines(pen: Pen, cell: str) -> str:
    distance = pen.pick("{matrix}[@i, @j]", "{matrix}[@i][@j]")
    tests, values = ["@i != @j"], []
    if "matrix" in pen.slots:
        values = [f"1.0 / {distance}", f"1 / ({distance} + 1e-06)", f"np.exp(-{distance})"]
    if "demands" in pen.slots:
        tests = [f"{_PAIR} <= {{number}}", f"@i != @j and {_PAIR} <= {{number}}"]
        values += [f"({_PAIR}) / {{number}}", f"{{number}} - {_PAIR}".replace(" + ", " - ")]
        if pen.chance(0.4):
            test = pen.pick("@f0 <= {number}", "@f0 < {number}")
            value = pen.pick("@f0 / {number}", "@f0", "1 / (1 + {number} - @f0)")
            return f"   @f0 = {_PAIR}\n   if {test}:\n    {cell} = {value}"
    if len(pen.slots) > 2:
        values.append(f"({_PAIR}) / {{number}} / {distance}")
    return f"   if {pen.pick(*tests)}:\n    {cell} = {pen.pick(*values)}"


def _short_form(pen: Pen) -> str:
    forms = []
    if "matrix" in pen.slots:
        forms += [
            " return 1 / ({matrix} + 1e-10)",
            " @s = 1.0 / np.maximum({matrix}, 1e-09)\n np.fill_diagonal(@s, 0)\n return @s",
            " @f = {matrix}.copy()\n np.fill_diagonal(@f, 1)\n return 1 / @f",
            " @f = np.where({matrix} > 0, {matrix}, 1.0)\n @s = 1.0 / @f\n np.fill_diagonal(@s, 0.0)\n return @s",
            " with np.errstate(divide='ignore'):\n  @s = 1 / {matrix}\n @s[{matrix} == 0] = 0\n return @s",
            " return np.where({matrix} > 0, 1 / np.maximum({matrix}, 1e-12), 0)",
            " @s = np.exp(-{matrix})\n return @s / @s.sum(axis=1, keepdims=True)",
            " @f = {matrix} + np.eye(len({matrix}))\n return 1 / @f ** 2",
        ]
    if "demands" in pen.slots:
        forms += [
            " @s = np.add.outer({demands}, {demands})\n return np.where(@s <= {number}, @s, 0) / {number}",
            " return np.tile({demands} / {demands}.max(), (len({demands}), 1))",
            " @n = len({demands})\n @s = np.zeros((@n, @n))\n @s[:] = {demands} / {number}\n return @s",
            " @f = ({demands}[:, None] + {demands}[None, :]) / {number}\n return np.where(@f <= 1, @f, 0.0)",
            " return np.tile({demands}, ({demands}.size, 1)) / {number}",
        ]
    if len(pen.slots) > 2:
        forms += [
            " @f = {matrix}[0]\n @s = @f[:, None] + @f[None, :] - {matrix}\n return np.maximum(@s, 1e-09)",
            " @s = {matrix}[:, 0][:, None] + {matrix}[0, :] - {matrix}\n return @s / {matrix}.max()",
            " @f = ({demands}[:, None] + {demands}[None, :]) / {number}\n return @f / ({matrix} + 1e-06)",
        ]
    return pen.pick(*forms)


STYLES: tuple[Style, ...] = (_double_loop, _double_loop, _short_form)
