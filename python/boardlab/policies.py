"""Policies of your own, in place of those that boardlab has.

    def wait(seen):
        '''Linux' wait for a NOR flash: longer while operations need more than two polls.'''
        busy = sum(polls > 2 for polls in seen.polls)
        return 180 if busy > len(seen.polls) / 2 else 170

    boardlab.run("nor-write", policies={"linux.wait": wait})

Two kinds of keys take one: the waits of NOR drivers (``linux.wait``, ``uboot.wait``, ``improved.wait``; see
:class:`Waits`), and garbage collection behind a translation layer that maps pages
(``part.collection.policy``; see :class:`Blocks`).

A policy is a function, or an object that can be called. It is not called for each operation: it sees many
at a time (:class:`Batch` says how many), so a run with a policy is about as fast as one without.

Each device that uses a policy works on a deep copy of it. So an object may remember what it likes: equal runs
give equal figures, and the runs within one do not disturb each other. A function should remember nothing.

What a policy raises ends the run and is what :func:`boardlab.run` raises.
"""

from __future__ import annotations

import copy
import operator
import warnings
from collections.abc import Callable, Mapping
from threading import Event
from typing import Any, NamedTuple, Union

from ._arguments import count, text, whole
from ._errors import input_error

__all__ = ["Batch", "Blocks", "Policies", "Waits"]

#: How many operations a policy sees at a time, and how many blocks it names at a time.
BATCH, NAMED = 256, 16
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


class Blocks(NamedTuple):
    """What the policy of garbage collection sees: the blocks that can be collected, in no special order.

    It returns the numbers of the blocks that are collected next, the first one first: at least one. Those that
    are no longer closed at their turn are passed over, and it is asked again when all are used up.

    Attributes:
        block: the number of each.
        valid: its valid pages, which collection copies.
        erases: how often it was erased.
        age: the pages that the host has written since the block was closed.
        pages_per_block: the pages of a block. Where `boardlab life` models a part of each block, of that part.
    """

    block: list[int]
    valid: list[int]
    erases: list[int]
    age: list[int]
    pages_per_block: int


class Batch(NamedTuple):
    """A policy that is asked for so many operations at a time: ``Batch(policy, 1000)``.

    Attributes:
        policy: the function or the object.
        size: how many operations a wait sees at a time, 256 by default; how many of the blocks that it names
            are collected before it is asked again, at most, 16 by default.
    """

    policy: Callable[[Any], Any]
    size: int


#: Policies by the keys of the scenario that they stand for.
Policies = Union[Mapping[str, Union[Callable[[Any], Any], Batch]], None]


class _Own:
    """A policy as the compiled half calls it, and whether any copy of it was asked."""

    def __init__(self, key: str, policy: Callable[[Any], Any], size: int) -> None:
        self.key = key
        self.policy = policy
        self.size = size
        self.asked = Event()

    def __deepcopy__(self, memo: dict[int, Any]) -> _Own:
        copied = copy.copy(self)
        copied.policy = copy.deepcopy(self.policy, memo)
        return copied


class _Wait(_Own):
    def __call__(self, columns: dict[str, list[int]]) -> list[int]:
        self.asked.set()
        failed = [bool(one) for one in columns["failed"]]
        said = self.policy(Waits(columns["polls"], failed))
        if said is None:
            return []
        expected = f"whole microseconds from 0 to {WAIT_MOST:,}, or None"
        micros = whole(said)
        if micros is None or not 0 <= micros <= WAIT_MOST:
            raise input_error(
                f"the policy for {self.key} returns {said!r}"[:200],
                found=said,
                expected=expected,
                help=f"return {expected}",
            )
        return [micros]


class _Collection(_Own):
    #: How often in a row it named blocks that free nothing.
    in_vain = 0

    def __call__(self, columns: dict[str, list[int]]) -> list[int]:
        self.asked.set()
        (pages,) = columns.pop("pages_per_block")
        blocks = Blocks(**columns, pages_per_block=pages)
        valid, said = dict(zip(blocks.block, blocks.valid)), self.policy(blocks)
        try:
            named = [operator.index(block) for block in said]
        except TypeError:
            named = []
        if not named or any(block not in valid for block in named):
            wrong = next((block for block in named if block not in valid), said)
            raise input_error(
                f"the policy for {self.key} names {wrong!r}"[:200],
                found=wrong,
                expected="numbers of blocks that it was shown, one at least",
                help="return some of seen.block: sorted(seen.block, key=...)",
            )
        # Collection would copy full blocks for ever. An order that comes to each block once is not stuck.
        frees = any(valid[block] < pages for block in named[: self.size])
        self.in_vain = 0 if frees else self.in_vain + 1
        if self.in_vain > len(blocks.block) and min(blocks.valid) < pages:
            raise input_error(
                f"the policy for {self.key} names only blocks without a stale page, {self.in_vain} times in a row",
                found=named[0],
                expected="a block that frees a page: valid below pages_per_block",
                help="name blocks with fewer valid pages: sorted(seen.block, key=...)",
            )
        return named


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
    for key, one in policies.items():
        key = text(key, "the key of a policy")
        is_wait = key.rpartition(".")[2] == "wait"
        kind, size = (_Wait, BATCH) if is_wait else (_Collection, NAMED)
        policy = one
        if isinstance(one, Batch):
            policy, size = one.policy, count(one.size, "the size of a batch") or 0
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
        all.append((key, name, size, kind(key, policy, size)))
    return room, all


def tell_unasked(own: list[tuple[str, str, int, Any]]) -> None:
    """Warns of policies that had nothing to decide."""
    for key, name, _, policy in own:
        if not policy.asked.is_set():
            sentence = f"the policy {name} for {key} was never asked: nothing here depends on it"
            warnings.warn(sentence, stacklevel=4)
