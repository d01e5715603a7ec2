"""The file of --alertmanager-config: Prometheus' HTTP client configuration, and ``labels``, the sidecar's own key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from advisor.alerting.alert import OWN_LABELS
from advisor.files import yaml_file
from advisor.files.reloading import Reloader, Watch
from advisor.files.yaml_file import Document
from advisor.outgoing.settings import ClientSettings, HttpConfig, client_settings, named_files

_SHAPE = "this configuration is a mapping with basic_auth, authorization, tls_config, timeout, labels"
_LABEL = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")


def _labels(written: dict[str, str]) -> dict[str, str]:
    for name in written:
        if not _LABEL.fullmatch(name) or name.startswith("__"):
            raise ValueError(
                f"{name} is no name of a label: letters, digits and _, and no digit or __ at the beginning"
            )
        if name in OWN_LABELS:
            where = "; --instance sets it" if name == "instance" else ""
            raise ValueError(f"{name} is a label of the sidecar's own{where}")
    return written


class AlertmanagerConfig(HttpConfig):
    """The file."""

    labels: Annotated[dict[str, str], AfterValidator(_labels)] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """What the file says, with all files read.

    Attributes:
        client: How requests are made.
        labels: Added to every alert.
    """

    client: ClientSettings
    labels: Mapping[str, str]


def load(path: Path) -> Document[AlertmanagerConfig]:
    """Read a configuration; the files that it names are not read.

    Raises:
        FileError: It cannot be read, or anything in it is wrong; the text shows no secret.
    """
    return yaml_file.read(path, AlertmanagerConfig, _SHAPE)


def alert_settings(path: Path | None, *, encrypted: bool) -> Reloader[AlertSettings]:
    """The settings of a configuration file, which follow its changes and those of the files that it names.

    Args:
        path: The file; None for the defaults.
        encrypted: Whether any Alertmanager has an https URL.

    Raises:
        FileError: Anything in the file, or in a file that it names, is wrong; the text shows no secret.
    """

    def read(watch: Watch) -> AlertSettings:
        if path is None:
            return AlertSettings(client_settings(None, encrypted=encrypted), {})
        watch(lambda: (path,))
        document = load(path)
        watch(lambda: named_files(document))
        return AlertSettings(client_settings(document, encrypted=encrypted), document.content.labels)

    return Reloader(
        read,
        refused="the old configuration for Alertmanager stays in force",
        loaded="loaded the configuration for Alertmanager anew",
    )
