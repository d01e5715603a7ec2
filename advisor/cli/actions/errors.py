"""Errors of the input, whose text is the message to the user."""

from __future__ import annotations

from advisor.files.yaml_file import FileError
from exporter.connection.errors import ServerError
from exporter.connection.target import TargetError
from exporter.recording.file import RecordingError
from exporter.state_file import InUse

INPUT_ERRORS = (TargetError, ServerError, RecordingError, FileError, InUse)
