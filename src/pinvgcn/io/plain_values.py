"""Values in the types that JSON keeps."""

from __future__ import annotations

import json
from typing import Any

from pinvgcn.errors import ParameterError


def plain(name: str, value: Any) -> Any:
    """A parameter in the types that JSON keeps; numpy's numbers and arrays become Python's."""
    try:
        return json.loads(json.dumps(value, default=lambda array: array.tolist()))
    except (AttributeError, TypeError):
        raise ParameterError(
            f"A saved model keeps plain numbers and text only. Got {name}={value!r}; "
            f"call set_params({name}=...) with such a value before save."
        ) from None
