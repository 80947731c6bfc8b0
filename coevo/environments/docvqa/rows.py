"""One question of a DocVQA data set as published, and what is asked of its columns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from coevo.errors import ContentError
from coevo.explaining import explain

DOCUMENT_COLUMNS = ("ucsf_document_id", "docId")
"""Either tells which questions are about one document; of a whole document where there is a choice, not of one page."""


_Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""Not blank."""


class Columns(BaseModel):
    """What a row must have besides its image; the published sets have more columns, which are not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    question: _Text
    answers: tuple[_Text, ...] = Field(min_length=1)
    questionId: int | str | None = None  # noqa: N815 - the published name
    ucsf_document_id: int | str | None = None
    docId: int | str | None = None  # noqa: N815 - the published name

    @property
    def document(self) -> str | None:
        """What all rows about one document have in common, if a column tells."""
        named = (getattr(self, name) for name in DOCUMENT_COLUMNS)
        return next((str(value) for value in named if value is not None), None)


@dataclass(frozen=True, slots=True)
class Row:
    """A question about a document.

    Attributes:
        name: Unique in its data set.
        question: What is asked.
        answers: The references, at least one.
        document: The same for all questions about one document.
        file: The image, or the parquet file that holds it.
        place: Row of that parquet file, from 0; None where the file is the image.
    """

    name: str
    question: str
    answers: tuple[str, ...]
    document: str
    file: Path
    place: int | None = None


def read_columns(values: Any, file: Path, number: int) -> Columns:
    """Check one row.

    Args:
        values: As it stands in the file.
        file: For the message.
        number: Which row, from 0; for the message.

    Raises:
        ContentError: Naming the file, the row and the column.
    """
    try:
        return Columns.model_validate(values)
    except ValidationError as error:
        raise ContentError(f"{file}, row {number}: {explain(error)}; expected question, answers and image") from None
