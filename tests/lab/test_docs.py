from lab import docs


def test_the_readme_has_every_metric_as_the_code_has_it() -> None:
    text = docs.README.read_text(encoding="utf-8")
    assert docs.readme(text) == text, "run: .venv/bin/python -m lab.docs"
    assert "`innodb_up`" in text
