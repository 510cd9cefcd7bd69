"""Cards that live short, so that a life is a matter of milliseconds."""

#: The settings of a card of which the blocks end soon.
SHORT = {
    "part.capacity": "1 GiB",
    "part.endurance.rated": 100,
    "part.endurance.pe_cycles": [20, 22, 25, 28, 32],
}
#: A run of one such card alone.
ALONE = {"life.cards": 1, "what_if.cards": 0, **SHORT}
