"""`whatif`: the model's answer to a change of settings."""

from __future__ import annotations

from advisor.cli.actions.observation import observed_window, refuse_missing_privileges
from advisor.cli.actions.output import say_json
from advisor.cli.exits import Unusable
from advisor.cli.options import SourceOptions
from advisor.pool.errors import Refused, Unanswerable
from advisor.pool.what_if import what_if
from advisor.render import model_text
from advisor.render.terminal import console


def whatif(
    *, where: SourceOptions, settings: tuple[tuple[str, str], ...], watch: float, interval: float | None, style: str
) -> None:
    """Print what the settings would do.

    Raises:
        Unusable: A setting is refused, or the model has no answer.
    """
    seen = observed_window(where, watch, interval)
    try:
        answer = what_if(seen, dict(settings))
    except Refused as error:
        raise Unusable(str(error)) from error
    except Unanswerable as error:
        refuse_missing_privileges(seen.latest)
        raise Unusable(f"the model has no answer: {error}") from error
    if style == "json":
        say_json(answer, by_alias=True)
    else:
        model_text.print_what_if(console(), answer)
