import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor import facts
from advisor.casetest.alterations import Alteration
from advisor.casetest.cases import Case, ExpectedFinding
from advisor.rules.configuration import Configuration, ServerMachine, Suppression
from advisor.rules.file import ActionItem, Applies, ChangeItem, Choose, EffectItem, EvidenceItem, Lasting, RuleFile
from lab.harness.watch import rules
from tests.charts.pages import anchors
from tools import docs, generated

HAND_WRITTEN = (docs.README, docs.ROOT / "CONTRIBUTING.md", *sorted((docs.ROOT / "docs").glob("*.md")))
ALL_PAGES = (*HAND_WRITTEN, *sorted(docs.PAGES.glob("*.md")))
TEXTS = (
    *ALL_PAGES,
    *sorted((docs.ROOT / "lab").rglob("*.md")),
    *sorted((docs.ROOT / "rules").glob("*.yaml")),
    *(docs.ROOT / name for name in ("Makefile", "Dockerfile", ".ci/run", "exporter/knowledge.toml")),
    *(docs.ROOT / "charts" / "innodb-advisor" / name for name in ("values.yaml", "alerts/innodb-advisor.rules.yaml")),
)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
FOLDERS = "advisor|charts|docs|exporter|lab|rules|tests|tools"


@pytest.fixture(scope="module")
def contents() -> Mapping[Path, str]:
    """Every file that the code makes, with its content."""
    return docs.documents()


def test_every_page_equals_the_output_of_code_and_rules(contents: Mapping[Path, str]) -> None:
    stale = generated.stale(contents, docs.PAGES)
    assert [str(path.relative_to(docs.ROOT)) for path in stale] == [], "run: .venv/bin/python -m tools.docs"


def test_the_readme_is_short_and_has_pictures_and_the_recommendation() -> None:
    text = docs.README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "SET GLOBAL innodb_old_blocks_pct" in text
    for picture in re.findall(r'src="(docs/img/[^"]+)"', text):
        assert (docs.ROOT / picture).stat().st_size < 150_000


def test_the_page_of_metrics_has_every_metric() -> None:
    assert "`innodb_up`" in docs.METRICS.read_text(encoding="utf-8")
    assert docs.metrics_table() in docs.METRICS.read_text(encoding="utf-8")


def test_every_marked_part_is_made_here(contents: Mapping[Path, str]) -> None:
    for path in HAND_WRITTEN:
        marks = re.findall(r"^<!-- (\w+): made by tools/docs\.py -->$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert not marks or path in contents, path
    assert docs.advice() in docs.RECOMMENDATIONS.read_text(encoding="utf-8")


def test_every_rule_has_a_page_and_is_in_the_index() -> None:
    index = (docs.PAGES / "README.md").read_text(encoding="utf-8")
    for rule in rules():
        assert f"[{rule.id}]({rule.id}.md)" in index
        assert (docs.PAGES / f"{rule.id}.md").read_text(encoding="utf-8").count(f"`{rule.id}`")


def test_the_guide_has_every_name_that_expressions_may_use_with_its_meaning() -> None:
    text = docs.WRITING.read_text(encoding="utf-8")
    names = {name: fact for for_each in facts.LISTS for name, fact in facts.names(for_each, choose=True).items()}
    assert [name for name in names if f"`{name}`" not in text] == []
    assert [name for name, fact in names.items() if not fact.meaning] == []


def test_the_guide_has_every_key_of_rules_cases_and_the_configuration() -> None:
    text = docs.WRITING.read_text(encoding="utf-8")
    shapes = (RuleFile, Applies, Lasting, Choose, ChangeItem, ActionItem, EffectItem, EvidenceItem)
    keys = {field.alias or name for shape in shapes for name, field in shape.model_fields.items()}
    keys |= {field.alias or name for shape in (Case, ExpectedFinding) for name, field in shape.model_fields.items()}
    assert [key for key in sorted(keys) if not re.search(rf"`(?:[^`]*\W)?{key}(?:\W[^`]*)?`", text)] == []
    examples = "".join(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))
    in_examples = (Alteration, Configuration, ServerMachine, Suppression)
    assert [key for shape in in_examples for key in shape.model_fields if f"{key}:" not in examples] == []


@pytest.mark.parametrize("path", ALL_PAGES, ids=lambda path: str(path.relative_to(docs.ROOT)))
def test_links_lead_to_a_file_and_a_heading_of_it(path: Path) -> None:
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
        if "://" in target:
            continue
        page = (path.parent / target) if target else path
        assert page.exists(), f"{path.name}: {target}"
        if anchor:
            assert anchor in anchors(page.read_text(encoding="utf-8")), f"{path.name}: {target}#{anchor}"


MESSAGES = (
    "did not answer within",
    "accepts connections but sent no MySQL greeting",
    "refused the login of",
    "refused the connection: ",
    "may not read everything; as an administrator run",
    "only one collection since the server, its settings or the sidecar changed",
    "performance_schema is OFF",
    ", which cannot be read: ",
    "the model has no answer: ",
    "Nothing to change in this window.",
    "cannot listen on ",
    "there is no such key",
    "the DSN holds a password, which every user of this machine could read in the process list",
    "cannot read the password file",
    "not a recording of innodb-advisor",
    "not loaded, the old rules stay in force",
    "an unexpected error; the log has the details",
)


@pytest.mark.parametrize("message", MESSAGES)
def test_the_messages_of_troubleshooting_are_the_programs_own(message: str) -> None:
    files = [path for name in ("exporter", "advisor") for path in (docs.ROOT / name).rglob("*.py")]
    sources = (*files, docs.ROOT / "rules" / "blind-spot.yaml")
    assert any(message in path.read_text(encoding="utf-8") for path in sources)
    page = (docs.ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert message in page.replace("\n", " ")


def test_the_index_has_every_page() -> None:
    index = docs.ROOT / "docs" / "README.md"
    linked = set(docs.links(index.read_text(encoding="utf-8")))
    pages = {path.name for path in index.parent.iterdir() if path.suffix == ".md" and path != index}
    folders = {path.name for path in index.parent.iterdir() if path.is_dir()} - {"img", "rules"}
    assert pages | folders | {"rules/README.md"} <= linked


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(docs.ROOT)))
def test_every_path_and_module_of_the_repository_that_is_named_is_there(path: Path) -> None:
    text = re.sub(r"\]\([^)]*\)", "]", path.read_text(encoding="utf-8"))  # the test above checks links
    named = re.findall(rf"(?<![\w./-])((?:{FOLDERS})/[\w./-]*[\w/])", text)
    missing = [name for name in named if not (docs.ROOT / name).exists()]
    commands = re.findall(rf"-m ((?:{FOLDERS})(?:\.\w+)*)", text)
    missing += [command for command in commands if importlib.util.find_spec(command) is None]
    assert missing == []


def test_a_page_that_no_rule_has_any_more_or_that_was_edited_is_stale(tmp_path: Path) -> None:
    same, edited, gone, new = (tmp_path / name for name in ("same.md", "edited.md", "gone.md", "new.md"))
    for page in (same, edited, gone):
        page.write_text("# A page\n", encoding="utf-8")
    contents = {same: "# A page\n", edited: "# Another\n", new: "# New\n"}
    assert generated.stale(contents, tmp_path) == [edited, new, gone]
    generated.write(contents, tmp_path)
    assert generated.stale(contents, tmp_path) == []


FLEET_MESSAGES = (
    "no server: there are no series innodb_up or mysql_up",
    "cannot connect: ",
    "it does not answer as Prometheus' API does",
    "redirects are not followed",
    "not long enough since ",
    "only downsampled data: ",
    "no answer within ",
    "identity is not unique: ",
    "incomplete answer: ",
    " series of servers have none of the labels ",
    "the inventory is incomplete: ",
    "the clock of this machine is ",
)


@pytest.mark.parametrize("message", FLEET_MESSAGES)
def test_the_messages_of_the_fleets_page_are_the_programs_own(message: str) -> None:
    sources = (*(docs.ROOT / "advisor/fleet").glob("*.py"), docs.ROOT / "advisor/render/fleet.py")
    assert any(message in path.read_text(encoding="utf-8") for path in sources)
    assert message.strip() in docs.FLEET.read_text(encoding="utf-8").replace("\n", " ")
