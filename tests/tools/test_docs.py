import re
from pathlib import Path

import pytest

from advisor.casetest.alterations import Altered
from advisor.casetest.cases import Case, Finding
from advisor.rules import glossary
from advisor.rules.configuration import Configuration, ServerMachine
from advisor.rules.file import ActionItem, Applies, ChangeItem, Choose, EffectItem, EvidenceItem, Lasting, RuleFile
from advisor.rules.suppression import Suppression
from lab.observation import rules
from tools import docs


def test_every_page_is_as_the_code_and_the_rules_make_it() -> None:
    assert [str(path.relative_to(docs.ROOT)) for path in docs.stale()] == [], "run: .venv/bin/python -m tools.docs"


def test_the_readme_has_every_metric_and_the_recommendation() -> None:
    text = docs.README.read_text(encoding="utf-8")
    assert "`innodb_up`" in text
    assert "SET GLOBAL innodb_old_blocks_pct" in text


def test_every_rule_has_a_page_and_is_in_the_index() -> None:
    index = (docs.PAGES / "README.md").read_text(encoding="utf-8")
    for each in rules():
        assert f"[{each.id}]({each.id}.md)" in index
        assert (docs.PAGES / f"{each.id}.md").read_text(encoding="utf-8").count(f"`{each.id}`")


def test_the_guide_has_every_name_that_expressions_may_use_with_its_meaning() -> None:
    text = docs.WRITING.read_text(encoding="utf-8")
    names = [*glossary.settings(), *(name for group in glossary.groups() for name in group.names)]
    assert [each.name for each in names if f"`{each.name}`" not in text] == []
    assert [each.name for each in names if not each.meaning] == []


def test_the_guide_has_every_key_of_rules_cases_and_the_configuration() -> None:
    text = docs.WRITING.read_text(encoding="utf-8")
    shapes = (RuleFile, Applies, Lasting, Choose, ChangeItem, ActionItem, EffectItem, EvidenceItem)
    keys = {field.alias or name for shape in shapes for name, field in shape.model_fields.items()}
    keys |= {field.alias or name for shape in (Case, Finding) for name, field in shape.model_fields.items()}
    assert [key for key in sorted(keys) if not re.search(rf"`(?:[^`]*\W)?{key}(?:\W[^`]*)?`", text)] == []
    examples = "".join(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))
    shown = (Altered, Configuration, ServerMachine, Suppression)
    assert [key for shape in shown for key in shape.model_fields if f"{key}:" not in examples] == []


def test_links_between_pages_lead_somewhere() -> None:
    for path in (docs.WRITING, *sorted(docs.PAGES.glob("*.md"))):
        for target in docs.links(path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_a_page_that_no_rule_has_any_more_or_that_was_edited_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs, "PAGES", tmp_path)
    for path, text in docs.documents().items():
        if path.parent == tmp_path:
            path.write_text(text, encoding="utf-8")
    before = docs.stale()
    page = tmp_path / f"{rules()[0].id}.md"
    page.write_text(page.read_text(encoding="utf-8") + "More.\n", encoding="utf-8")
    (tmp_path / "gone.md").write_text("# Gone\n", encoding="utf-8")
    assert sorted(docs.stale()) == sorted([*before, page, tmp_path / "gone.md"])
