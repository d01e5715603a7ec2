"""What a simulation is refused for, without the simulation."""


class TooManySteps(Exception):
    """A simulation takes more steps than it may; the text says how many it would take."""
