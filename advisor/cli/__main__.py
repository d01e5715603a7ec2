"""`python -m advisor.cli`."""

from advisor.cli.main import main

main()
