"""Generated questions about numbers whose answers are known by construction; seeded, and none asked twice.

They are there so that everything runs without a data set: easy for whoever computes, hard to guess, and of many kinds,
because an agent that learns one kind has learnt nothing. They are no measure of mathematical ability.
"""

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice

_SEED = 20260701
_DIGITS = "0123456789abcdef"
Pair = tuple[str, str]
"""A question and its answer, as LaTeX or plain text."""


def generated(count: int) -> list[Pair]:
    """The first questions of the one sequence there is: a longer list begins with the shorter one.

    Args:
        count: How many.
    """
    return list(islice(_sequence(), count))


def _sequence() -> Iterator[Pair]:
    rng = random.Random(_SEED)
    asked: set[str] = set()
    while True:
        for kind in rng.sample(_KINDS, len(_KINDS)):
            question, answer = kind(rng)
            if question not in asked:
                asked.add(question)
                yield question, answer


def _power(rng: random.Random) -> Pair:
    base, exponent, modulus = rng.randint(3, 99), rng.randint(50, 9999), rng.randint(101, 9999)
    return f"What is the remainder of ${base}^{{{exponent}}}$ on division by {modulus}?", str(
        pow(base, exponent, modulus)
    )


def _divisors(rng: random.Random) -> Pair:
    number = rng.randint(1_000, 99_999)
    count = sum(2 - (d * d == number) for d in range(1, math.isqrt(number) + 1) if number % d == 0)
    return f"How many positive divisors does {number} have?", str(count)


def _multiples(rng: random.Random) -> Pair:
    first, second = rng.sample(range(3, 30), 2)
    limit = rng.randint(200, 5_000)
    total = sum(n for n in range(1, limit) if n % first == 0 or n % second == 0)
    question = f"Find the sum of all positive integers below {limit} that are multiples of {first} or of {second}."
    return question, str(total)


def _digit_sum(rng: random.Random) -> Pair:
    base, exponent = rng.randint(2, 19), rng.randint(20, 200)
    return f"Find the sum of the decimal digits of ${base}^{{{exponent}}}$.", str(sum(map(int, str(base**exponent))))


def _primes(rng: random.Random) -> Pair:
    low = rng.randint(2, 3_000)
    high = low + rng.randint(100, 2_000)
    count = sum(all(n % d for d in range(2, math.isqrt(n) + 1)) for n in range(low, high + 1))
    return f"How many primes $p$ are there with ${low} \\le p \\le {high}$?", str(count)


def _fractions(rng: random.Random) -> Pair:
    terms = [Fraction(rng.randint(1, 40), rng.randint(2, 40)) for _ in range(3)]
    value = terms[0] + terms[1] - terms[2]
    shown = [f"\\frac{{{t.numerator}}}{{{t.denominator}}}" for t in terms]
    return f"Compute ${shown[0]} + {shown[1]} - {shown[2]}$ as a fraction in lowest terms.", _fraction(value)


def _system(rng: random.Random) -> Pair:
    x, y = rng.randint(-60, 60), rng.randint(-60, 60)
    a, b, c = rng.randint(2, 12), rng.randint(2, 12), rng.randint(2, 12)
    d = rng.choice([n for n in range(2, 13) if a * n != b * c])
    equations = f"${a}x + {b}y = {a * x + b * y}$ and ${c}x + {d}y = {c * x + d * y}$"
    return f"The numbers $x$ and $y$ satisfy {equations}. Find $x \\cdot y$.", str(x * y)


def _remainders(rng: random.Random) -> Pair:
    moduli = sorted(rng.sample((7, 8, 9, 11, 13, 17, 19, 23), 3))
    answer = rng.randint(1, math.prod(moduli) - 1)
    parts = ", ".join(f"{answer % m} on division by {m}" for m in moduli)
    return f"Find the least positive integer that leaves these remainders: {parts}.", str(answer)


def _paths(rng: random.Random) -> Pair:
    width, height = rng.randint(4, 14), rng.randint(4, 14)
    x, y = rng.randint(1, width - 1), rng.randint(1, height - 1)
    through = math.comb(x + y, x) * math.comb(width - x + height - y, width - x)
    question = (
        f"A path goes from $(0, 0)$ to $({width}, {height})$ in steps of one to the right or one up. "
        f"How many such paths avoid the point $({x}, {y})$?"
    )
    return question, str(math.comb(width + height, width) - through)


def _dice(rng: random.Random) -> Pair:
    sides, dice = rng.randint(4, 12), rng.randint(2, 4)
    ways = {0: 1}
    for _ in range(dice):
        ways = _after_another(ways, sides)
    target = rng.randint(dice + 1, dice * sides - 1)
    question = (
        f"What is the probability that {dice} fair dice with the sides 1 to {sides} show a total of exactly {target}?"
    )
    return question, _fraction(Fraction(ways[target], sides**dice))


def _base(rng: random.Random) -> Pair:
    base, number = rng.choice((2, 3, 5, 7, 8, 12, 16)), rng.randint(500, 99_999)
    digits, rest = "", number
    while rest:
        rest, digit = divmod(rest, base)
        digits = _DIGITS[digit] + digits
    return f"The number {digits} is written in base {base}. What is it in base 10?", str(number)


def _roots(rng: random.Random) -> Pair:
    roots = sorted(rng.sample(range(-40, 41), 3))
    b = -sum(roots)
    c = roots[0] * roots[1] + roots[0] * roots[2] + roots[1] * roots[2]
    polynomial = f"x^3 {b:+d}x^2 {c:+d}x {-math.prod(roots):+d}"
    return f"Find the largest root of ${polynomial}$.", str(roots[-1])


def _recurrence(rng: random.Random) -> Pair:
    a, b, first, second = rng.randint(1, 5), rng.randint(1, 5), rng.randint(0, 9), rng.randint(1, 9)
    steps, modulus = rng.randint(30, 400), rng.randint(100, 1_000)
    low, high = first, second
    for _ in range(steps - 1):
        low, high = high, (a * high + b * low) % modulus
    question = (
        f"Let $a_0 = {first}$, $a_1 = {second}$ and $a_{{n+1}} = {a} a_n + {b} a_{{n-1}}$. "
        f"Find the remainder of $a_{{{steps}}}$ on division by {modulus}."
    )
    return question, str(high % modulus)


def _squares(rng: random.Random) -> Pair:
    radius = rng.randint(8, 120)
    count = sum(2 * math.isqrt(radius * radius - x * x) + 1 for x in range(-radius, radius + 1))
    return f"How many points $(x, y)$ with integer coordinates satisfy $x^2 + y^2 \\le {radius}^2$?", str(count)


def _zeros(rng: random.Random) -> Pair:
    number, base = rng.randint(50, 900), rng.choice((2, 3, 5, 7))
    return (
        f"Find the largest $k$ such that ${base}^k$ divides ${number}!$.",
        str(sum(number // base**power for power in range(1, 12))),
    )


def _after_another(ways: dict[int, int], sides: int) -> dict[int, int]:
    """The number of ways to each total, after one more die."""
    grown: dict[int, int] = {}
    for total, count in ways.items():
        for shown in range(1, sides + 1):
            grown[total + shown] = grown.get(total + shown, 0) + count
    return grown


def _fraction(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


_KINDS: tuple[Callable[[random.Random], Pair], ...] = (
    _power, _divisors, _multiples, _digit_sum, _primes, _fractions, _system, _remainders,
    _paths, _dice, _base, _roots, _recurrence, _squares, _zeros,
)  # fmt: skip
