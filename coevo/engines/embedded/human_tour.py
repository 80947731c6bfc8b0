"""How people write next-node heuristics."""

from coevo.engines.embedded.pen import Pen, Style


def _key_function(pen: Pen) -> str:
    call = f"min({{nodes}}, key=lambda @i: {pen.expression()})"
    return pen.pick(f" return {call}", f" @best = {call}\n return @best", f" return int({call})")


def _best_loop(pen: Pen) -> str:
    start = pen.pick(
        " @best = None\n @low = float('inf')",
        " @best, @low = None, np.inf",
        " @best = {nodes}[0]\n @low = np.inf",
        " @best = -1\n @low = 1e9",
    )
    test = pen.pick("if @s < @low:", "if @best is None or @s < @low:")
    update = pen.pick("   @low = @s\n   @best = @i", "   @best, @low = @i, @s", "   @best = @i\n   @low = @s")
    return f"{start}\n for @i in {{nodes}}:\n{pen.score_lines('  ')}\n  {test}\n{update}\n return @best"


def _look_ahead_loop(pen: Pen) -> str:
    start = pen.pick(" @best = None\n @low = float('inf')", " @best, @low = None, np.inf")
    others = pen.pick(
        "[{matrix}[@i, @j] for @j in {nodes} if @j != @i]", "[{matrix}[@i][@j] for @j in {nodes} if @j != @i]"
    )
    ahead = pen.pick(
        "min(@f0) if @f0 else 0.0", "sum(@f0) / len(@f0) if @f0 else 0.0", "np.mean(@f0) if len(@f0) > 0 else 0"
    )
    score = f"{{matrix}}[{{node}}, @i] {pen.pick('+', '-')} {pen.constant()} * @f1"
    if "destination" in pen.slots and pen.chance(0.4):
        score += f" - {pen.constant()} * {{matrix}}[@i, {{destination}}]"
    lines = f"  @f0 = {others}\n  @f1 = {ahead}\n  @s = {score}\n  if @s < @low:\n   @best, @low = @i, @s"
    return f"{start}\n for @i in {{nodes}}:\n{lines}\n return @best"


def _score_list(pen: Pen) -> str:
    if pen.chance(0.5):
        index = pen.pick("int(np.argmin(@s))", "np.argmin(@s)", "@s.index(min(@s))")
        return f" @s = [{pen.expression()} for @i in {{nodes}}]\n return {{nodes}}[{index}]"
    body = f" @s = []\n for @i in {{nodes}}:\n  @s.append({pen.expression()})"
    return f"{body}\n return {{nodes}}[int(np.argmin(np.array(@s)))]"


def _sorted_nodes(pen: Pen) -> str:
    if pen.chance(0.5):
        return f" return sorted({{nodes}}, key=lambda @i: {pen.expression()})[0]"
    return f" @s = [({pen.expression()}, @i) for @i in {{nodes}}]\n @s.sort()\n return @s[0][1]"


def _score_dict(pen: Pen) -> str:
    if pen.chance(0.5):
        return f" @s = {{@i: {pen.expression()} for @i in {{nodes}}}}\n return min(@s, key=@s.get)"
    other = pen.pick("{matrix}[@i, @j]", "{matrix}[@i][@j]")
    mean = f"np.mean([{other} for @j in {{nodes}} if @j != @i] or [0.0])"
    far = (
        f" - {pen.constant()} * {{matrix}}[{{destination}}][@i]"
        if "destination" in pen.slots and pen.chance(0.5)
        else ""
    )
    score = f"@w1 * {{matrix}}[{{node}}][@i] - @w2 * @f0{far}"
    constants = f" @w1, @w2 = {pen.constant()}, {pen.constant()}\n @s = {{}}\n"
    return f"{constants} for @i in {{nodes}}:\n  @f0 = {mean}\n  @s[@i] = {score}\n return min(@s, key=@s.get)"


def _ordered(pen: Pen) -> str:
    distances = pen.pick("{matrix}[{node}, {nodes}]", "{matrix}[{node}][{nodes}]")
    return pen.pick(
        f" return {{nodes}}[np.argmin({distances})]",
        f" @f = {distances}\n @s = np.argsort(@f)\n return int({{nodes}}[@s[0]])",
        f" @f = {distances}\n return {{nodes}}[@f.argmin()]",
    )


STYLES: tuple[Style, ...] = (
    _key_function, _best_loop, _best_loop, _look_ahead_loop, _score_list, _sorted_nodes, _score_dict, _ordered,
)  # fmt: skip
