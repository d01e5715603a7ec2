"""The gauntlet: workloads that no rule was made for. Everything advised on them is followed and measured."""
