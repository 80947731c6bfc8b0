"""A conversation as the text that a model's chat template makes of it, up to where the answer begins.

Templates that let a model think unless told otherwise are told not to: those that read `enable_thinking`.
Some know no system message, or want user and assistant to alternate strictly: what such a template refuses is offered
once more with the system's words as the user's and neighbours of one role as one message.
"""

from collections.abc import Sequence
from typing import Any, Literal

from coevo.errors import ModelError, one_line
from coevo.interfaces import Message

_FEW = 6


def write_conversation(tokenizer: Any, messages: Sequence[Message]) -> str:
    """The text of a conversation, with the begin token where the template writes one.

    Pure: the same messages always take the same form.

    Args:
        tokenizer: A tokenizer of transformers with a chat template.
        messages: At least one.

    Raises:
        ModelError: If the template takes neither form.
    """
    from jinja2 import TemplateError

    options = {"enable_thinking": False} if "enable_thinking" in str(tokenizer.chat_template) else {}
    for form in (messages, plain_roles(messages)):
        written = [{"role": message.role, "content": message.content} for message in form]
        try:
            return str(tokenizer.apply_chat_template(written, add_generation_prompt=True, tokenize=False, **options))
        except TemplateError as error:
            refusal = error
    roles = ", ".join(message.role for message in messages[:_FEW]) + (", …" if len(messages) > _FEW else "")
    raise ModelError(
        f"expected a chat template that takes a conversation ({roles}), the template of {tokenizer.name_or_path} "
        f"refuses it: {one_line(refusal, 200)}; use a model tuned for chat"
    )


def plain_roles(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same words by user and assistant alone, in turns; what the system says is said by the user."""
    merged: list[Message] = []
    for message in messages:
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        if merged and merged[-1].role == role:
            merged[-1] = Message(role, f"{merged[-1].content}\n\n{message.content}")
        else:
            merged.append(Message(role, message.content))
    return tuple(merged)
