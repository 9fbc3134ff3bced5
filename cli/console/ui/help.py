"""The help page of the console, in Markdown."""

from typing import Final

HELP_PAGE: Final = """\
## What can be typed

| line | effect |
| --- | --- |
| `text` | to whom you look at (the coordinator at first) |
| `@name text` | to one worker |
| `@* text` | to the coordinator and all workers |
| `/interrupt [@name] text` | say it now: what it is doing is cancelled |
| `/pause [name]` `/resume [name]` | let it stand still, let it go on; without a name the team |
| `/stop [name]` | stop it in an orderly way |
| `/answer ID text` | answer a question |
| `/budget [$5]` | show what may be spent, or set it: `$5`, `2m tokens`, `none`; `a day` or in all |
| `/board` `/files [path]` `/tree` `/questions` | look |
| `/quit` | leave; the team goes on |

`Tab` completes commands and names. `//text` is a text that begins with a slash.

## Keys everywhere

| key | effect |
| --- | --- |
| `Ctrl+N` `Ctrl+P` | the next, the previous entity; the whole team is one of them |
| `F1` … `F5` | help, team, board, files, tree |
| `F6` | the open questions |
| `PgUp` `PgDn` | scroll the conversation |
| `Esc` | from the line to the keys below, and back |
| `Ctrl+Q`, twice `Ctrl+C` | leave; the team goes on |

## Keys outside the line

| key | effect |
| --- | --- |
| `1` … `9` | answer the question on top with that option |
| `a` | go to the question; typing answers it in words |
| `↑` `↓` `Enter` | mark a tool call, open or fold it |
| `Home` `End` | older entries, the newest ones |
| `b` `f` `t` `c` | board, files, tree, conversation |
| `s` | show or hide the team |
| `i` `/` `@` | back to the line |
"""
