"""RunCommand: `agiraph run`, whose options have the defaults of the project file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from agiraph.core.errors import InvalidInput
from agiraph.storage.project_file import CALLS_TOOLS, NAME, ProjectFile, project_file
from cli.options.everywhere import remark
from cli.options.shared import settings_of, together

OF_LAST_RUN: Final = ("model", "worker_model", "folder")


class RunCommand(click.Command):
    """A command whose options have defaults in the project file.

    The command line overrides these.
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context, with the defaults of the project file. Raises InvalidInput.

        A shell that only completes the line needs no defaults.
        """
        file = None if extra.get("resilient_parsing") else project_file()
        if file is not None:
            extra["default_map"] = dict(self._defaults(file))
        return super().make_context(info_name, args, parent, **extra)

    def _defaults(self, file: ProjectFile) -> Iterator[tuple[str, Any]]:
        """Yield the parameters that the file sets. Raises InvalidInput with the file and the
        key.
        """
        options = {option.opts[-1].removeprefix("--"): option for option in self.params}
        for key, given in file.run.items():
            option = options[key]
            is_one = not getattr(option, "multiple", False) or isinstance(given, list)
            value = given if is_one else [given]
            try:
                option.type_cast_value(click.Context(self), value)
            except click.BadParameter as error:
                raise InvalidInput(f"{file.path}: run.{key}: {error.message}") from None
            assert option.name is not None
            yield option.name, value

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return further words; drop defaults that conflict with the command line, show others."""
        rest = super().parse_args(ctx, args)
        set_here = [name for name in ctx.params if is_of_project(ctx, name)]
        for name in set_here:
            if not _fits(ctx, name):
                ctx.params[name] = None
        if "budgets" in set_here:
            ctx.params["budgets"] = _lowered(ctx.params["home"], ctx.params["budgets"])
        options = {option.name: option.opts[-1] for option in self.params}
        used = [options[name] for name in set_here if ctx.params[name]]
        if used:
            remark(f"{NAME}: {', '.join(used)}")
        return rest


def is_of_project(ctx: click.Context, name: str) -> bool:
    """Whether the value of a parameter is from the project file."""
    return ctx.get_parameter_source(name) is click.core.ParameterSource.DEFAULT_MAP


def _fits(ctx: click.Context, name: str) -> bool:
    """Whether the project's default of the option `name` fits the command line."""
    given = ctx.params
    if given["goal"] is None:
        return name == "timeout"  # all else continues as it was begun
    match name:
        case "timeout":
            return not given["detach"]
        case "cycle":
            return bool(given["mode"] == "infinite")
        case "worker_model" if str(given["model"]).startswith(f"{CALLS_TOOLS}/"):
            return False  # a replay is for the whole team
        case _:
            return given["agent"] is None or name not in OF_LAST_RUN


def _lowered(home: Path, budgets: Any) -> Any:
    """Return the limits that are lower than the home's settings: a project may raise none."""
    from agiraph.core.money import NamedLimit

    settings = settings_of(home).budgets
    usd, tokens = together(budgets)
    if settings.run_usd is not None and usd not in (None, "none"):
        usd = min(usd, settings.run_usd)
    if settings.run_tokens is not None and tokens not in (None, "none"):
        tokens = min(tokens, settings.run_tokens)
    return (NamedLimit(usd, tokens),)
