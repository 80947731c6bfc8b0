"""Generated documents: fixed texts, honest references, disjoint splits, and pages that are what the text says."""

import hashlib
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.docvqa.anls import normalise
from coevo.environments.docvqa.drawing import draw
from coevo.environments.docvqa.generator import generate, generated_tasks

SPLITS = ("train", "val", "test")


@given(st.sampled_from(SPLITS), st.integers(0, 10**6))
def test_a_document_is_a_function_of_split_and_number(split, number):
    """The same seed gives the same page, and questions to ask about it."""
    document = generate(split, number)
    assert document == generate(split, number)
    assert len(document.questions) >= 6
    assert len({question.text for question in document.questions}) == len(document.questions)


@given(st.sampled_from(SPLITS), st.integers(0, 10**6))
def test_every_reference_stands_on_the_page(split, number):
    """The first answer to each question is written there, as one piece but for the wrapping of lines."""
    document = generate(split, number)
    page = f" {normalise(document.text)} "
    for question in document.questions:
        assert f" {normalise(question.answers[0])} " in page
        assert all(answer.strip() for answer in question.answers)


@given(st.integers(0, 10**6).map(lambda number: 4 * number))
def test_an_invoice_adds_up(number):
    """The amounts are the products, the total their sum and the tax."""
    lines = generate("train", number).text.split("\n")
    rows = [line.split("  ") for line in lines if line.count("  ") == 3][1:]
    amounts = [_cents(row[3]) for row in rows]
    assert amounts == [int(row[1]) * _cents(row[2]) for row in rows]
    subtotal, tax, total = (_cents(line.split("$")[1]) for line in lines[-3:])
    assert subtotal == sum(amounts)
    assert total == subtotal + tax


def _cents(text: str) -> int:
    return int(text.strip("$").replace(",", "").replace(".", ""))


def test_texts_are_what_they_were():
    """The default tasks keep their questions and pages from version to version, for published results rest on them."""
    state = hashlib.sha256()
    for split, size in (("train", 50), ("val", 50), ("test", 100)):
        for task in generated_tasks(split, size):
            state.update(json.dumps([task.name, dict(task.data)]).encode())
            state.update(generate(*task.data["document"]).text.encode())
    assert state.hexdigest() == "360a1a46225afd292744c06a7ae90427f3831afba653ea74a0a662cb56c5c6d7"


def test_no_two_documents_are_the_same():
    """The splits are disjoint, and every page in them differs."""
    texts = [generate(split, number).text for split in SPLITS for number in range(400)]
    assert len(set(texts)) == len(texts)


def test_a_small_split_asks_of_every_kind():
    """Four tasks are four kinds of document, and thirty-two ask every question of an invoice."""
    assert [task.name.split("-")[0] for task in generated_tasks("train", 4)] == [
        "invoice",
        "receipt",
        "letter",
        "table",
    ]
    invoices = [task for task in generated_tasks("train", 32) if task.name.startswith("invoice")]
    assert len({task.data["question"].split(" item ")[0] for task in invoices}) == 8


@pytest.mark.parametrize("number", range(4))
def test_a_page_is_drawn_the_same_twice(number):
    """The same bytes, a grey PNG on which all text has room: its margins are white."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    content = draw(generate("val", number))
    assert content == draw(generate("val", number))
    with image.open(io.BytesIO(content)) as page:
        assert (page.format, page.mode, page.width) == ("PNG", "L", 1100)
        for edge in ((0, 0, 60, page.height), (1040, 0, 1100, page.height), (0, page.height - 60, 1100, page.height)):
            assert page.crop(edge).getextrema() == (255, 255)
        assert page.getextrema()[0] == 0
