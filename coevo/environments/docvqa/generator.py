"""Documents made from a seed: invoices, receipts, letters and tables of figures.

What stands on a page depends on the seed alone, and every reference is known because it was written there. The pages
are clean: no handwriting, no stamps, no noise of a scanner, one typeface.
"""

import random
import textwrap
from collections.abc import Callable

from coevo.environments.docvqa import wording
from coevo.environments.docvqa.layout import Document, Line, Question, Table
from coevo.environments.docvqa.wording import Wording, money, ways_of_date, ways_of_money, written
from coevo.interfaces import Task

_LETTER_WIDTH = 66
"""Characters on a line of running text."""


def generate(split: str, number: int) -> Document:
    """The document of this number in a split; no other split has the same seeds.

    Args:
        split: Any name.
        number: From 0; the kinds of document take turns.
    """
    make = _KINDS[number % len(_KINDS)]
    return make(Wording(random.Random(f"coevo docvqa {split} {number}")))


def generated_tasks(split: str, size: int) -> list[Task]:
    """One question about each of the first documents of a split.

    Documents and the questions asked of a kind take turns, so that any size has a share of all.
    """
    return [_task(split, number) for number in range(size)]


def _task(split: str, number: int) -> Task:
    document = generate(split, number)
    question = document.questions[number // len(_KINDS) % len(document.questions)]
    data = {"question": question.text, "answers": list(question.answers), "document": [split, number]}
    return Task(f"{document.kind}-{number}", data)


def _invoice(words: Wording) -> Document:
    seller, buyer = words.company(), words.person()
    number, day = f"INV-{words.digits(5)}", words.day()
    due = words.day_after(day)
    names = words.rng.sample(wording.GOODS, words.rng.randint(3, 6))
    items = [(name, words.rng.randint(2, 40), 5 * words.rng.randint(30, 2400)) for name in names]
    subtotal = sum(quantity * price for _, quantity, price in items)
    tax = subtotal * 8 // 100
    asked, quantity, price = words.rng.choice(items)
    blocks = (
        Line(seller, size=1.5),
        Line(f"{words.street()}, {words.city()}"),
        Line(),
        Line("INVOICE", "centre", 1.5),
        Line(f"Invoice No: {number}"),
        Line(f"Date: {written(day)}"),
        Line(f"Payment due: {written(due)}"),
        Line(f"Bill to: {buyer}"),
        Line(f"{words.street()}, {words.city()}"),
        Line(),
        Table(
            ("Description", "Quantity", "Unit price", "Amount"),
            tuple((name, str(count), money(each), money(count * each)) for name, count, each in items),
        ),
        Line(),
        Line(f"Subtotal: {money(subtotal)}", "right"),
        Line(f"Tax (8%): {money(tax)}", "right"),
        Line(f"Total: {money(subtotal + tax)}", "right", 1.2),
    )
    questions = (
        Question("What is the total amount of the invoice?", ways_of_money(subtotal + tax)),
        Question("What is the invoice number?", (number,)),
        Question("What is the date of the invoice?", ways_of_date(day)),
        Question("When is the payment due?", ways_of_date(due)),
        Question("To whom is the invoice addressed?", (buyer,)),
        Question("Which company issued the invoice?", (seller,)),
        Question(f"What quantity of the item {asked} was billed?", (str(quantity),)),
        Question(f"What is the unit price of the item {asked}?", ways_of_money(price)),
    )
    return Document("invoice", blocks, questions)


def _receipt(words: Wording) -> Document:
    shop, cashier, city = words.company(), words.person(), words.city()
    number, day, time = words.digits(6), words.day(), words.time()
    items = [
        (name, words.rng.randint(80, 1900)) for name in words.rng.sample(wording.GROCERIES, words.rng.randint(4, 8))
    ]
    total, payment = sum(price for _, price in items), words.rng.choice(wording.PAYMENTS)
    asked, price = words.rng.choice(items)
    blocks = (
        Line(shop, "centre", 1.4),
        Line(f"{words.street()}, {city}", "centre"),
        Line(),
        Line(f"Receipt: {number}"),
        Line(f"Date: {written(day)}   Time: {time}"),
        Line(f"Served by: {cashier}"),
        Line(),
        Table(("Item", "Price"), tuple((name, money(cents)) for name, cents in items)),
        Line(),
        Line(f"TOTAL: {money(total)}", "right", 1.2),
        Line(f"Paid by: {payment}", "right"),
        Line(),
        Line("Thank you for your visit", "centre"),
    )
    questions = (
        Question("What is the total on the receipt?", ways_of_money(total)),
        Question("What is the number of the receipt?", (number,)),
        Question("What is the date on the receipt?", ways_of_date(day)),
        Question("At what time was the receipt printed?", (time,)),
        Question("Who served the customer?", (cashier,)),
        Question("In which town is the shop?", (city,)),
        Question("How was the purchase paid?", (payment,)),
        Question(f"What is the price of the item {asked}?", ways_of_money(price)),
    )
    return Document("receipt", blocks, questions)


def _letter(words: Wording) -> Document:
    (sender, recipient), company = words.people(2), words.company()
    day, time = words.day(), words.time()
    meeting = words.day_after(day)
    committee, title = words.rng.choice(wording.COMMITTEES), words.rng.choice(wording.TITLES)
    room = f"{words.rng.choice(wording.ROOMS)} {words.digits(3)}"
    topic, telephone = words.rng.choice(wording.TOPICS), f"555-{words.digits(4)}"
    body = (
        f"I am writing to invite you to the next meeting of the {committee}. It will be held on {written(meeting)} "
        f"at {time} in {room}. The main subject of the meeting is {topic}.\n"
        f"If you are unable to attend, please call my office at {telephone} before the end of the week."
    )
    blocks = (
        Line(company, "centre", 1.5),
        Line(f"{words.street()}, {words.city()}", "centre"),
        Line(),
        Line(written(day), "right"),
        Line(recipient),
        Line(f"{words.street()}, {words.city()}"),
        Line(),
        Line(f"Dear {recipient},"),
        Line(),
        *_paragraphs(body),
        Line("Yours sincerely,"),
        Line(),
        Line(sender),
        Line(title),
    )
    questions = (
        Question("Who wrote the letter?", (sender,)),
        Question("To whom is the letter addressed?", (recipient,)),
        Question("What is the date of the letter?", ways_of_date(day)),
        Question("On what date will the meeting be held?", ways_of_date(meeting)),
        Question("In which room will the meeting be held?", (room,)),
        Question("Which body holds the meeting?", (committee,)),
        Question("What is the title of the person who signed the letter?", (title,)),
        Question("Which telephone number is given in the letter?", (telephone,)),
    )
    return Document("letter", blocks, questions)


def _table(words: Wording) -> Document:
    author, company, year = words.person(), words.company(), str(words.rng.randint(1990, 2024))
    number = f"{words.rng.randint(1, 12)}.{words.rng.randint(1, 9)}"
    columns = tuple(words.rng.sample(wording.PRODUCTS, 3))
    regions = words.rng.sample(wording.REGIONS, words.rng.randint(4, 6))
    # All figures differ, so that there is one largest.
    figures = iter(words.rng.sample(range(120, 9800), len(regions) * len(columns)))
    rows = {region: tuple(next(figures) for _ in columns) for region in regions}
    region, column = words.rng.choice(regions), words.rng.randrange(len(columns))
    largest = max(rows, key=lambda name: rows[name][column])
    blocks = (
        Line(company, "centre", 1.4),
        Line(f"Table {number}: Units sold in {year}", "centre", 1.2),
        Line(),
        Table(("Region", *columns), tuple((name, *map(str, cells)) for name, cells in rows.items())),
        Line(),
        Line(f"Prepared by: {author}"),
        Line(f"Source: Annual survey, {words.city()} office"),
    )
    questions = (
        Question(f"How many {columns[column].lower()} were sold in the region {region}?", (str(rows[region][column]),)),
        Question(f"Which region sold the most {columns[column].lower()}?", (largest,)),
        Question("Which year does the table cover?", (year,)),
        Question("Who prepared the table?", (author,)),
        Question("What is the number of the table?", (number,)),
        Question("Which company does the table belong to?", (company,)),
    )
    return Document("table", blocks, questions)


def _paragraphs(text: str) -> tuple[Line, ...]:
    """Each paragraph wrapped, with a free line after it."""
    return tuple(Line(line) for part in text.split("\n") for line in (*textwrap.wrap(part, _LETTER_WIDTH), ""))


_KINDS: tuple[Callable[[Wording], Document], ...] = (_invoice, _receipt, _letter, _table)
