"""A setting: a field of a dataclass that is both an option of commands and a key of job files."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, TypeVar, get_args

import click

from nci_frames.options.kinds import Kind

C = TypeVar("C", bound=Callable[..., object])
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """Kind, help text and names of a field."""

    kind: Kind
    help: str
    short: str | None = None
    #: Name of the option, if it differs from the name of the field.
    flag: str | None = None

    @staticmethod
    def of(table: type, name: str) -> "Setting":
        """Return the setting of a field."""
        return next(each.metadata["setting"] for each in fields(table) if each.name == name)  # type: ignore[no-any-return]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return the pydantic schema that reads the key."""
        from pydantic_core import core_schema

        read = core_schema.no_info_plain_validator_function(self.kind.read)
        return core_schema.nullable_schema(read) if type(None) in get_args(source) else read

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the JSON schema of the key."""
        return {**self.kind.schema, "description": self.help}

    def option(self, name: str, default: Any) -> Callable[[C], C]:
        """Return the option of the field *name*."""
        several = bool(self.kind.choices)
        return click.option(
            name,
            f"--{(self.flag or name).replace('_', '-')}",
            *([f"-{self.short}"] if self.short else []),
            type=self.kind,
            default=default,
            multiple=several,
            callback=_together if several else None,
            help=self.help,
        )


def setting(kind: Kind, told: str, default: Any = None, **names: str) -> Any:
    """Return a field that is a setting; *told* is its help text, *names* are ``short`` and ``flag``."""
    return field(default=default, metadata={"setting": Setting(kind, told, **names)})


def settings(table: type[T]) -> type[T]:
    """Let pydantic read the fields of a dataclass by the kinds of their settings."""
    for each in fields(table):  # type: ignore[arg-type]
        each.type = Annotated[each.type, each.metadata["setting"]]
    return table


def options_of(table: type, *without: str) -> Callable[[C], C]:
    """Add an option for each field of a dataclass of settings, in order."""
    settings_of = [each for each in fields(table) if each.name not in without]

    def added(command: C) -> C:
        for each in reversed(settings_of):
            command = each.metadata["setting"].option(each.name, each.default)(command)
        return command

    return added


def taken(table: type[T], given: MutableMapping[str, Any]) -> T:
    """Remove the fields of a dataclass of settings from the given options, and return the dataclass."""
    return table(**{each.name: given.pop(each.name) for each in fields(table) if each.name in given})  # type: ignore[arg-type]


def _together(_ctx: click.Context, _param: click.Parameter, value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Join the words of a repeated option, without duplicates."""
    return tuple(dict.fromkeys(word for words in value for word in words))
