"""What a language model is asked, how its reply is read, and what is let through. Pure."""

from memkit.extraction.prompt import PROMPT_VERSION, SHOWN_ROLES, build_prompt, reply_schema
from memkit.extraction.reply import read_reply
from memkit.extraction.validation import (
    LONGEST_CONTENT,
    MOST_FACTS,
    fitting_kind,
    to_importance,
    validate,
)

__all__ = [
    "LONGEST_CONTENT",
    "MOST_FACTS",
    "PROMPT_VERSION",
    "SHOWN_ROLES",
    "build_prompt",
    "fitting_kind",
    "read_reply",
    "reply_schema",
    "to_importance",
    "validate",
]
