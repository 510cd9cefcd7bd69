"""Scenarios, parts and boards."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Union

from . import _arguments as arguments
from . import _boardlab
from ._errors import input_error

__all__ = ["Board", "Key", "Part", "Scenario", "Value", "boards", "parts", "scenarios"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a scenario, as `boardlab list keys SCENARIO` lists it.

    Attributes:
        key: the dotted key, as :meth:`Scenario.set` takes it.
        meaning: what it means; empty if no document says it.
        value: the value as written; ``None`` where the key is omitted.
        default: the value that holds where the key is omitted, if there is one.
        holds: what it may hold, such as ``a duration``.
        unit: the units that its value may have, or how it is written; may be empty.
        limits: the limits, such as ``1 to 16``.
        values: the values, where there is a list of them.
        example: a value as a file writes it, if there is an example.
        origin: what the value rests on: ``datasheet``, ``published``, ``derived``, ``measured``,
            ``assumed`` or ``fitted``.
        source: the document that the origin names.
        file: the file or the option that the value stands in.
        idle: when the run does not use the value, as a clause; ``None`` where it does.
    """

    key: str
    meaning: str
    value: str | None
    default: str | None
    holds: str
    unit: str
    limits: tuple[str, ...]
    values: tuple[str, ...]
    example: str | None
    origin: str | None
    source: str | None
    file: str | None
    idle: str | None

    @property
    def range(self) -> str:
        """What it may hold, with its limits: ``a whole number, 1 to 16``."""
        return ", ".join([self.holds, *self.limits]) if self.holds else ", ".join(self.limits)


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a part or a board, and where it comes from."""

    key: str
    value: str
    origin: str | None
    source: str | None


class Scenario:
    """A scenario: what is run. It does not change; :meth:`set` gives another one.

    A scenario of a file keeps the text that was read: a run is that of this text, whatever
    becomes of the file.

    >>> from boardlab import Scenario
    >>> scenario = Scenario.load("nor-write").set("workload.bytes", "64 KiB")
    >>> scenario
    Scenario('nor-write', set=['workload.bytes=64 KiB'])
    >>> scenario.keys()["workload.bytes"].value
    '64 KiB'
    """

    __slots__ = ("_folder", "_name", "_set", "_text")

    _name: str
    _text: str | None
    _folder: str | None
    _set: tuple[str, ...]

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("use Scenario.load(NAME_OR_PATH) or Scenario.from_toml(TEXT)")

    @classmethod
    def _of(
        cls, name: str, text: str | None, folder: str | None, set: tuple[str, ...] = ()
    ) -> Scenario:
        scenario = object.__new__(cls)
        scenario._name, scenario._text = name, text
        scenario._folder, scenario._set = folder, set
        return scenario

    @classmethod
    def load(cls, name_or_path: str | os.PathLike[str]) -> Scenario:
        """The built-in scenario of this name, that of an evaluation, or that of a file.

        What contains a ``/`` or ends in ``.toml`` is a path. A file ``*.fio`` stands for the
        scenario ``card-fio`` with these jobs.

        Raises:
            InputError: there is no such scenario, or its file is wrong.
        """
        name, text, folder = _boardlab.find(arguments.path(name_or_path, "the scenario"))
        return cls._of(name, text, None if folder is None else os.fspath(folder))

    @classmethod
    def from_toml(
        cls, text: str, *, name: str = "scenario.toml", folder: str | os.PathLike[str] = ""
    ) -> Scenario:
        """The scenario in `text`. Errors and results call it `name`; relative paths in it count
        from `folder`, or from the current one.

        >>> from boardlab import Scenario
        >>> Scenario.from_toml('extends = "nor-write"\\ntitle = "Mine"').title
        'Mine'
        """
        text = arguments.text(text, "the text of the scenario")
        name = arguments.text(name, "the name of the scenario")
        scenario = cls._of(name, text, arguments.path(folder, "the folder"))
        _boardlab.describe(scenario._spec())
        return scenario

    def set(self, key: Union[str, Mapping[str, Any]], value: Any = None, /) -> Scenario:
        """This scenario with another value, or with several: ``set({"KEY": VALUE})``.

        Raises:
            InputError: as `boardlab run SCENARIO --set KEY=VALUE` says it.
        """
        given = key if isinstance(key, Mapping) else {key: value}
        more = tuple(arguments.settings(given))
        scenario = self._of(self._name, self._text, self._folder, self._set + more)
        scenario.check()
        return scenario

    def check(self) -> None:
        """Checks every value, as before a run.

        Raises:
            InputError: with all errors that were found.
        """
        _boardlab.check(self._spec())

    def keys(self) -> dict[str, Key]:
        """Its keys, with those of its part and its board, in the order of reading."""
        keys = {}
        for one in json.loads(_boardlab.keys(self._spec())):
            one["unit"] = one.pop("units")
            one["limits"], one["values"] = tuple(one["limits"]), tuple(one["values"])
            keys[one["key"]] = Key(**one)
        return keys

    @property
    def name(self) -> str:
        """The name or the path."""
        return self._name

    @property
    def toml(self) -> str:
        """The text of its file, without what was set. Empty for a file of fio jobs."""
        return self._text or ""

    @property
    def settings(self) -> tuple[str, ...]:
        """What was set: ``KEY=VALUE``."""
        return self._set

    @property
    def title(self) -> str:
        """The title."""
        return str(self._known()["title"])

    @property
    def actions(self) -> tuple[str, ...]:
        """What can be done with it: ``run`` and others of ``tune``, ``life``, ``powercut`` and
        ``advise``."""
        return tuple(self._known()["actions"])

    @property
    def evaluation(self) -> str | None:
        """The published evaluation that it repeats, as :func:`boardlab.reproduce` takes it."""
        found = self._known()["evaluation"]
        return None if found is None else str(found)

    def _known(self) -> dict[str, Any]:
        known: dict[str, Any] = json.loads(_boardlab.describe(self._spec()))
        return known

    def _spec(self) -> _boardlab.Spec:
        return self._name, self._text, self._folder, list(self._set)

    def __repr__(self) -> str:
        changed = f", set={list(self._set)!r}" if self._set else ""
        return f"Scenario({self._name!r}{changed})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return self._spec() == other._spec()

    def __hash__(self) -> int:
        return hash((self._name, self._text, self._folder, self._set))

    def __reduce__(self) -> tuple[Any, ...]:
        return Scenario._of, (self._name, self._text, self._folder, self._set)


def spec(scenario: object, set: arguments.Settings = None) -> _boardlab.Spec:
    """What the compiled half takes for a scenario, with what is set besides."""
    more = arguments.settings(set)
    if isinstance(scenario, Scenario):
        name, text, folder, own = scenario._spec()
        return name, text, folder, own + more
    return arguments.path(scenario, "the scenario"), None, None, more


class _File:
    """A file of a part or a board."""

    __slots__ = ("_known",)
    _noun = ""
    _known: dict[str, Any]

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError(f"use {type(self).__name__}.load(NAME_OR_PATH)")

    @classmethod
    def load(cls, name_or_path: str | os.PathLike[str]) -> Any:
        """The built-in one of this name, or that of a file.

        Raises:
            InputError: there is none, or its file is wrong.
        """
        name = arguments.path(name_or_path, f"the {cls._noun}")
        one = object.__new__(cls)
        one._known = json.loads(_boardlab.file(cls._noun, name))
        return one

    @property
    def name(self) -> str:
        """The name, or the path as given."""
        return str(self._known["name"])

    @property
    def title(self) -> str:
        """What it is."""
        return str(self._known["title"])

    @property
    def toml(self) -> str:
        """The text of its file."""
        return str(self._known["text"])

    @property
    def uses(self) -> tuple[str, ...]:
        """The built-in scenarios that take it; empty for a file of the user."""
        return tuple(_boardlab.uses(self._noun, self.name))

    @property
    def values(self) -> dict[str, Value]:
        """Its values with their origins, by dotted key."""
        return {one["key"]: Value(**one) for one in self._known["values"]}

    @property
    def _as_value(self) -> str:
        return self.name

    def __getitem__(self, key: str) -> Value:
        return self.values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {self.title})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _File):
            return NotImplemented
        return type(other) is type(self) and self._known == other._known

    def __hash__(self) -> int:
        return hash((type(self), self.name, self.toml))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self._known)


def _again(kind: type[_File], known: dict[str, Any]) -> _File:
    one = object.__new__(kind)
    one._known = known
    return one


class Part(_File):
    """A part: the numbers of a data sheet, each with its origin.

    >>> from boardlab import Part, Scenario
    >>> part = Part.load("m29ew")
    >>> part["limits.endurance"].origin
    'datasheet'
    >>> Scenario.load("nor-write").set("part", part)
    Scenario('nor-write', set=['part=m29ew'])
    """

    __slots__ = ()
    _noun = "part"

    @property
    def kind(self) -> str:
        """``nor``, ``nand``, ``sd``, ``emmc`` or ``sata``."""
        return str(self._known["kind"] or "")


class Board(_File):
    """A board: what is around the part, such as its bus and its processor."""

    __slots__ = ()
    _noun = "board"


def parts(kind: str | None = None) -> list[Part]:
    """The built-in parts, or those of one kind: ``nor``, ``nand``, ``sd``, ``emmc``, ``sata``.

    >>> import boardlab
    >>> {part.kind for part in boardlab.parts("nand")}
    {'nand'}
    """
    known = None if kind is None else arguments.text(kind, "the kind of the parts")
    kinds = ("nor", "nand", "sd", "emmc", "sata")
    if known is not None and known not in kinds:
        raise input_error(
            f"no part is of the kind {known!r}",
            found=known,
            expected="a kind of part",
            help="known: " + ", ".join(kinds),
        )
    return [Part.load(one["name"]) for one in json.loads(_boardlab.list_files("part", known))]


def boards() -> list[Board]:
    """The built-in boards."""
    return [Board.load(one["name"]) for one in json.loads(_boardlab.list_files("board", None))]


def scenarios() -> list[Scenario]:
    """The built-in scenarios.

    >>> import boardlab
    >>> [one.evaluation for one in boardlab.scenarios() if one.evaluation]
    ['fcse', 'nandfs', 'nor', 'sata', 'sdwear']
    """
    names = json.loads(_boardlab.list_files("scenario", None))
    return [Scenario.load(one["name"]) for one in names]
