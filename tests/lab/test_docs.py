from lab import docs


def test_the_readme_has_every_metric_and_the_recommendation_as_the_code_makes_them() -> None:
    text = docs.README.read_text(encoding="utf-8")
    assert docs.readme(text) == text, "run: .venv/bin/python -m lab.docs"
    assert "`innodb_up`" in text
    assert "SET GLOBAL innodb_old_blocks_pct" in text
