"""The license: the same in the repository, the package's metadata, the image's label and the chart."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

from lab.packages.cache import REPOSITORY

LICENSE = REPOSITORY / "LICENSE"
# Of https://www.apache.org/licenses/LICENSE-2.0.txt
STANDARD_TEXT = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


def test_it_is_the_standard_text_of_apache_2() -> None:
    assert hashlib.sha256(LICENSE.read_bytes()).hexdigest() == STANDARD_TEXT


def test_the_wheel_names_it_and_holds_its_text(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)  # noqa: S603 - hatchling, on this package
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        headers = HeaderParser().parsestr(archive.read(metadata).decode())
        assert headers["License-Expression"] == "Apache-2.0"
        assert headers.get_all("License-File") == ["LICENSE"]
        assert archive.read(metadata.replace("METADATA", "licenses/LICENSE")) == LICENSE.read_bytes()


def test_the_image_and_the_chart_name_it() -> None:
    dockerfile = (REPOSITORY / "Dockerfile").read_text()
    assert re.search(r'org\.opencontainers\.image\.licenses="Apache-2\.0"', dockerfile)
    assert "!LICENSE" in (REPOSITORY / ".dockerignore").read_text().splitlines()
    assert "artifacthub.io/license: Apache-2.0" in (REPOSITORY / "charts/innodb-advisor/Chart.yaml").read_text()
