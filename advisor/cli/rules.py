"""`rules`: its commands and their options."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.options import rules_options


@click.group(epilog=epilog("rules list", "rules show scan-exceeds-old-sublist", "rules test ./my-rules"))
def rules() -> None:
    """List the rules, explain one, or test them, your own too."""


@rules.command("list", epilog=epilog("rules list", "rules list --rules ./my-rules --json"))
@rules_options
@click.option("--json", "as_json", is_flag=True, help="Print a list with a JSON object per rule.")
@runs("advisor.cli.actions.rules.list_rules")
def list_rules() -> None:
    """List the rules."""


@rules.command(
    epilog=epilog("rules show scan-exceeds-old-sublist", "rules show my-rule --rules ./my-rules --format markdown")
)
@click.argument("rule_id", metavar="ID")
@rules_options
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "markdown", "yaml"]),
    default="text",
    show_default=True,
    help="yaml is the rule's own file.",
)
@runs("advisor.cli.actions.rules.show")
def show() -> None:
    """Explain a rule: when it fires, why, its evidence, how to fix it, and how that was proved."""


@rules.command(epilog=epilog("rules test", "rules test ./my-rules", "rules test ./my-rules --rule my-rule -v"))
@click.argument("directory", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
@rules_options
@click.option("--rule", "only", multiple=True, metavar="ID", help="Test only this rule; may be repeated.")
@click.option("-v", "--verbose", is_flag=True, help="Say for every silent case why the rule was silent.")
@runs("advisor.cli.actions.rules_test.test")
def test() -> None:
    """Replay the cases of the rules in DIR, and show where a rule differs from what its case expects.

    Without DIR, test the built-in rules and the rules of --rules.
    """
