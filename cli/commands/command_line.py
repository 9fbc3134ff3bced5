"""`agiraph help` and `agiraph completion`: the command line itself."""

from typing import Literal, NoReturn

import click

from cli.options.shared import examples

SHELLS = ("bash", "zsh", "fish")
INTO = examples(
    'eval "$(agiraph completion bash)"      # in ~/.bashrc',
    'eval "$(agiraph completion zsh)"       # in ~/.zshrc, after compinit',
    "agiraph completion fish > ~/.config/fish/completions/agiraph.fish",
)


@click.command(name="help", epilog=examples("agiraph help run", "agiraph help tokens add"))
@click.argument("command", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, command: tuple[str, ...]) -> NoReturn:
    """Show the help of COMMAND, or the list of all commands: as `agiraph COMMAND --help`."""
    ctx.find_root().command.main([*command, "--help"], prog_name="agiraph")


@click.command(epilog=INTO)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the script by which SHELL completes commands, options and names.

    Names of agents, entities, nodes and models are read from the home's files, without a
    supervisor.
    """
    from click.shell_completion import get_completion_class

    from cli.main import COMPLETE_VARIABLE, agiraph

    script = get_completion_class(shell)(agiraph, {}, "agiraph", COMPLETE_VARIABLE)
    click.echo(script.source())
