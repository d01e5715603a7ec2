"""A running sidecar as a command's source: --url and --url-config."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from advisor.cli import parameters
from advisor.cli.options import on_command_line, option_group
from advisor.cli.output import Unusable

if TYPE_CHECKING:
    from pydantic import BaseModel

    from advisor.outgoing.settings import ClientSettings

    Answer = TypeVar("Answer", bound=BaseModel)

_VARIABLE = "INNODB_ADVISOR_URL_CONFIG"
_SECONDS = 60.0
"""An answer may take so long, where no configuration says otherwise: a model may be asked, and wait for others."""


@dataclass(frozen=True, slots=True)
class SidecarOptions:
    """A running sidecar.

    Attributes:
        url: Of its page, without a slash at its end.
        config: Login, TLS and the limit for a request.
    """

    url: str
    config: Path | None

    def settings(self) -> ClientSettings:
        """Login, TLS and the limit for a request. Raises FileError where the configuration cannot be used."""
        from advisor.outgoing import settings

        return settings.read(self.config, self.url, _SECONDS)

    def ask(self, path: str, answer: type[Answer], content: str | None = None) -> Answer:
        """The sidecar's answer.

        Args:
            path: From its page, with the query.
            answer: The model of the JSON.
            content: A body, which makes it a POST.

        Raises:
            Unusable: There is no answer.
            FileError: The configuration cannot be used.
        """
        import asyncio

        from pydantic import ValidationError

        from advisor.outgoing.sidecar import SidecarError, ask

        try:
            return answer.model_validate_json(asyncio.run(ask(self.url, path, self.settings(), content)))
        except SidecarError as error:
            raise Unusable(f"{self.url}: {error}") from error
        except ValidationError as error:
            raise Unusable(
                f"{self.url} does not answer as innodb-advisor does; is it another version, or another service?"
            ) from error


def _sidecar_or_none(sidecar_url: str | None, url_config: Path | None) -> SidecarOptions | None:
    if sidecar_url is None and on_command_line("url_config"):
        raise click.UsageError("--url-config is for --url")
    return None if sidecar_url is None else SidecarOptions(sidecar_url, url_config)


optional_sidecar_options = option_group(
    "sidecar",
    _sidecar_or_none,
    click.option(
        "--url",
        "sidecar_url",
        type=parameters.url_like("http://127.0.0.1:9747", instead="--url-config has a place for it", base=True),
        metavar="URL",
        help="A running sidecar, by the address of its page: it answers from what it has watched.",
    ),
    click.option(
        "--url-config",
        type=click.Path(path_type=Path),
        envvar=_VARIABLE,
        metavar="FILE",
        help="Login, TLS and the limit for an answer of --url, in the format of Prometheus' HTTP client; also "
        f"${_VARIABLE}.",
    ),
)
"""``sidecar`` is None without --url."""
