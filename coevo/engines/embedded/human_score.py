"""How people write heuristics for items, tuples and bins."""

from coevo.engines.embedded.pen import Pen, Style, filled

_ITEM_SCORES = (
    "{values} / {weights}",
    "{values}",
    "-{weights}",
    "{values} / ({weights} + 1e-09)",
    "{values} ** 2 / {weights}",
)


def _item_loop(pen: Pen) -> str:
    start = pen.pick(" @best = None\n @low = -np.inf", " @best, @low = -1, float('-inf')", " @best = -1\n @low = -1.0")
    guard = pen.pick("  if {weights}[@i] > {number}:\n   continue", "  if not {weights}[@i] <= {number}:\n   continue")
    update = pen.pick("   @low = @s\n   @best = @i", "   @best, @low = @i, @s")
    lines = f"{guard}\n{pen.score_lines('  ')}\n  if @s > @low:\n{update}"
    if pen.chance(0.3):
        ratio = pen.pick("{values}[@i] / {weights}[@i]", "{values}[@i]", "-{weights}[@i]")
        lines = f"  if {{weights}}[@i] <= {{number}} and {ratio} > @low:\n   @low = {ratio}\n   @best = @i"
    return f"{start}\n for @i in range(len({{weights}})):\n{lines}\n return @best"


def _ordered_items(pen: Pen) -> str:
    score = pen.pick(*_ITEM_SCORES)
    order = pen.pick(f"np.argsort(-({score}))", f"np.argsort({score})[::-1]")
    fallback = pen.pick("-1", "None", "0")
    taken = pen.pick("int(@i)", "@i")
    return f" @f = {order}\n for @i in @f:\n  if {{weights}}[@i] <= {{number}}:\n   return {taken}\n return {fallback}"


def _feasible_items(pen: Pen) -> str:
    find = pen.pick("np.where({weights} <= {number})[0]", "np.flatnonzero({weights} <= {number})")
    guard = pen.pick("", " if len(@f) == 0:\n  return None\n", " if @f.size == 0:\n  return -1\n")
    score = pen.pick("{values}[@f] / {weights}[@f]", "{values}[@f]", "-{weights}[@f]", "{values}[@f] - {weights}[@f]")
    if pen.chance(0.4):
        return f" @f = {find}\n{guard} return @f[np.argmax({score})]"
    return f" @f = {find}\n{guard} @s = {score}\n return int(@f[np.argmax(@s)])"


def _item_max(pen: Pen) -> str:
    if pen.chance(0.5):
        fitting = "[@i for @i in range(len({weights})) if {weights}[@i] <= {number}]"
        return f" @f = {fitting}\n return max(@f, key=lambda @i: {pen.expression()})"
    mask = pen.pick(" @s = np.where({weights} <= {number}, @s, -np.inf)", " @s[{weights} > {number}] = -np.inf")
    score = pen.pick("{values} / {weights}", "1.0 * {values}", "-1.0 * {weights}")
    return f" @s = {score}\n{mask}\n return int(np.argmax(@s))"


def _running_total(pen: Pen) -> str:
    lines = [" @s = 0.0"]
    for term in pen.program.terms:
        text = filled(pen.family.catalogue[term.feature.key].template, term)
        lines.append(f" @s {term.sign}= {term.weight or '1'} * ({text})")
    return "\n".join([*lines, pen.pick(" return @s", " return float(@s)")])


def _element_loop(pen: Pen) -> str:
    weight, value = pen.constant(), int(pen.rng.integers(0, 3))
    if pen.chance(0.5):
        gain = pen.pick(weight, f"{weight} * (@i + 1)", f"{weight} / (@i + 1)")
        other = pen.pick(
            "", f"\n  else:\n   @s -= {weight}", f"\n  elif @j == {(value + 1) % 3}:\n   @s -= {pen.constant()}"
        )
        head = " @s = 0.0\n for @i, @j in enumerate({tuple}):"
        return f"{head}\n  if @j == {value}:\n   @s {pen.pick('+', '-')}= {gain}{other}\n return @s"
    pair = pen.pick("{tuple}[@i] == {tuple}[@i + 1]", "{tuple}[@i] != {tuple}[@i + 1]", f"{{tuple}}[@i] == {value}")
    loop = f" for @i in range(len({{tuple}}) - 1):\n  if {pair}:\n   @s += {weight}"
    return f" @s = 0.0\n{loop}\n return float(@s)"


def _array_counts(pen: Pen) -> str:
    value = int(pen.rng.integers(0, 3))
    scores = (
        f"np.sum(@f == {value})",
        "@f.sum()",
        "-np.abs(np.diff(@f)).sum()",
        "np.dot(@f, np.arange(len(@f)))",
        f"np.count_nonzero(@f == {value}) - {pen.constant()} * @f[0]",
        "(@f * @f[::-1]).sum()",
        "np.std(@f)",
        f"np.sum(@f == {value}) - np.abs(np.diff(@f)).mean()",
    )
    make = pen.pick("np.array({tuple})", "np.asarray({tuple})")
    if pen.chance(0.5):
        return f" @f = {make}\n return float({pen.pick(*scores)})"
    return f" @f = {make}\n @s = {pen.pick(*scores)}\n return float(@s)"


def _trivial_priority(pen: Pen) -> str:
    return pen.pick(
        " return 0.0",
        " return float(sum({tuple}))",
        " return -float(sum({tuple}))",
        " return {tuple}[0]",
        " return sum((@i == 1 for @i in {tuple}))",
    )


def _block_loop(pen: Pen) -> str:
    test = pen.pick(
        "sum(@f) == 3", "@f == (0, 0, 0)", "@f[0] == @f[1]", "max(@f) == 2", "len(set(@f)) == 1", "@f.count(0) == 2"
    )
    if pen.chance(0.4):
        blocks = "[tuple({tuple}[@i:@i + 3]) for @i in range(0, len({tuple}), 3)]"
        total = f"sum(({pen.pick('1', '1.0', pen.constant())} for @f in @c if {test}))"
        scale = f" / {{{pen.pick(*[kind for kind in pen.slots if kind != 'tuple'])}}}" if len(pen.slots) > 1 else ""
        return f" @c = {blocks}\n return {total}{scale}"
    gain = pen.pick(f"@s += {pen.constant()}", f"@s -= {pen.constant()}", f"@s += {pen.constant()} * sum(@f)")
    loop = " for @i in range(0, len({tuple}), 3):\n  @f = {tuple}[@i:@i + 3]"
    return f" @s = 0.0\n{loop}\n  if {test}:\n   {gain}\n return @s"


def _bin_list(pen: Pen) -> str:
    if pen.chance(0.4):
        return f" @s = []\n for @i in range(len({{bins}})):\n  @s.append({pen.expression()})\n return np.array(@s)"
    if pen.chance(0.4):
        left = pen.pick("1.0 / (@i - {item} + 1e-06)", "-(@i - {item})", "{item} / @i", "-(@i - {item}) ** 2")
        return f" @s = []\n for @i in {{bins}}:\n  @s.append({left})\n return np.array(@s)"
    return f" return np.array([{pen.expression()} for @i in range(len({{bins}}))])"


def _bin_loop(pen: Pen) -> str:
    lines = pen.score_lines("  ").replace("@s =", "@s[@i] =")
    make = pen.pick("np.zeros(len({bins}))", "np.zeros_like({bins}, dtype=float)")
    return f" @s = {make}\n for @i in range(len({{bins}})):\n{lines}\n return @s"


def _bin_where(pen: Pen) -> str:
    score = pen.pick(
        "-({bins} - {item})", "1 / ({bins} - {item} + 1)", "{item} - {bins}", "-{bins}", "-np.arange(len({bins}))",
        "{bins}", "-np.arange(len({bins}), dtype=float)", "-np.sqrt({bins} - {item})",
    )  # fmt: skip
    return pen.pick(
        f" return {score}",
        f" return np.where({{bins}} >= {{item}}, {score}, -np.inf)",
        f" @f = {{bins}} - {{item}}\n @s = {score}\n @s[@f == 0] += 1\n return @s",
        f" @f = {{bins}} - {{item}}\n return np.where(@f == 0, {pen.constant()}, {score})",
        f" @s = {score}\n return @s / np.max(np.abs(@s))",
    )


ITEM_STYLES: tuple[Style, ...] = (_item_loop, _item_loop, _ordered_items, _feasible_items, _item_max)
TUPLE_STYLES: tuple[Style, ...] = (_running_total, _element_loop, _array_counts, _trivial_priority, _block_loop)
BIN_STYLES: tuple[Style, ...] = (_bin_list, _bin_loop, _bin_where)
