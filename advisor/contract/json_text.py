"""A model as JSON, for programs: every value as it is, in characters that all show."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from advisor.contract.visible import visible_json


def json_of(content: BaseModel, **options: Any) -> str:
    """The JSON of a model.

    Args:
        content: The model. Its texts may hold lone surrogates: a file's name does where it is not UTF-8.
        options: As model_dump_json takes them.
    """
    try:
        text = content.model_dump_json(**options)
    except PydanticSerializationError:  # UTF-8 has no lone surrogates, but the escapes of JSON have
        indent = options.pop("indent", None)
        separators = (",", ":") if indent is None else None
        dumped = content.model_dump(mode="json", **options)
        text = json.dumps(dumped, ensure_ascii=False, indent=indent, separators=separators)
    return visible_json(text)
