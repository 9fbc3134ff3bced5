"""The commands, one file a family; `cli.command_table` lists them."""
