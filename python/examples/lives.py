"""How long do cards live under a logger? Runs on the cluster of SCHEDULER_FILE or SCHEDULER, else on this machine.

usage: lives.py CARDS STORE [KEY=VALUE ...]
"""
import os
import sys

from boardlab import fleet


def client():
    """A client of the cluster that the environment names; None for this machine."""
    known = {"scheduler_file": os.environ.get("SCHEDULER_FILE"), "address": os.environ.get("SCHEDULER")}
    known = {name: value for name, value in known.items() if value}
    if not known:
        return None
    from distributed import Client

    return Client(**known)


def main():
    cards, store, *settings = sys.argv[1:]
    print(fleet.lives("sd-life", int(cards), client(), set=settings, store=store))


if __name__ == "__main__":
    main()
