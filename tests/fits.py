"""JSON held against a schema, whose preparation costs more than what it says of a document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema.validators import validator_for


def require_fit(document: Any, schema: Mapping[str, Any]) -> None:
    """jsonschema.ValidationError where the document does not fit, SchemaError where the schema is none."""
    _validator(json.dumps(schema)).validate(document)


@cache
def _validator(schema: str) -> Any:
    found = json.loads(schema)
    made = validator_for(found)
    made.check_schema(found)
    return made(found)
