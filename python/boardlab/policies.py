"""Policies of your own, in place of those that boardlab has.

    def wait(seen):
        '''Linux' wait for a NOR flash: longer while operations need more than two polls.'''
        busy = sum(polls > 2 for polls in seen.polls)
        return 180 if busy > len(seen.polls) / 2 else 170

    boardlab.run("nor-write", policies={"linux.wait": wait})

A policy is a function, or an object that can be called. It is not called for each operation: it sees many
at a time (:class:`Batch` says how many), so a run with a policy is about as fast as one without.

Each device that uses a policy works on a deep copy of it. So an object may remember what it likes: equal runs
give equal figures, and the runs within one do not disturb each other. A function should remember nothing.

What a policy raises ends the run and is what :func:`boardlab.run` raises.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Union

from ._arguments import count, text
from ._errors import input_error

__all__ = ["Batch", "Policies", "Waits"]

#: How many operations a policy sees at a time.
BATCH = 256
#: The longest wait in microseconds, as the scenarios limit it.
WAIT_MOST = 1_000_000


class Waits(NamedTuple):
    """What the policy of a wait sees: the operations since it was last asked; none the first time.

    It returns how long the driver waits before the first poll of each of the following operations, in whole
    microseconds; None leaves the wait as it is. At first that is the word time of CFI, as Linux waits.

    Attributes:
        polls: the number of polls of each; 1 if the first one found the chip ready.
        failed: whether each has failed.
    """

    polls: list[int]
    failed: list[bool]


class Batch(NamedTuple):
    """A policy that sees so many operations at a time: ``Batch(policy, 1000)``.

    Attributes:
        policy: the function or the object.
        size: how many operations.
    """

    policy: Callable[[Any], Any]
    size: int


#: Policies by the keys of the scenario that they stand for.
Policies = Union[Mapping[str, Union[Callable[[Any], Any], Batch]], None]


class _Wait:
    """A policy for a wait, as the compiled half calls it."""

    def __init__(self, key: str, policy: Callable[[Waits], Any]) -> None:
        self.key = key
        self.policy = policy

    def __call__(self, columns: dict[str, list[int]]) -> list[int]:
        failed = [bool(one) for one in columns["failed"]]
        said = self.policy(Waits(columns["polls"], failed))
        if said is None:
            return []
        expected = f"whole microseconds from 0 to {WAIT_MOST:,}, or None"
        try:
            micros = -1 if isinstance(said, bool) else operator.index(said)
        except TypeError:
            micros = -1
        if not 0 <= micros <= WAIT_MOST:
            raise input_error(
                f"the policy for {self.key} returns {said!r}"[:200],
                found=said,
                expected=expected,
                help=f"return {expected}",
            )
        return [micros]


def given(policies: Policies) -> tuple[list[str], list[tuple[str, str, int, Any]]]:
    """The arguments of `--set` that make room for policies, and the policies for the compiled half."""
    if policies is None:
        return [], []
    if not isinstance(policies, Mapping):
        raise input_error(
            f"policies is {type(policies).__name__}",
            found=policies,
            expected="keys with their policies",
            help='write policies={"linux.wait": function}',
        )
    room, all = [], []
    for key, policy in policies.items():
        key, size = text(key, "the key of a policy"), BATCH
        if isinstance(policy, Batch):
            policy, size = policy.policy, count(policy.size, "the size of a batch") or 0
        if not callable(policy) or size < 1:
            found = policy if size else size
            raise input_error(
                f"the policy for {key} is {found!r}"[:200],
                found=found,
                expected="a function, or an object that can be called, and a batch of one operation or more",
                help="write a function of what it sees: def wait(seen): ...",
            )
        name = getattr(policy, "__name__", type(policy).__name__)
        room.append(f"{key}=own")
        all.append((key, name, size, _Wait(key, policy)))
    return room, all
