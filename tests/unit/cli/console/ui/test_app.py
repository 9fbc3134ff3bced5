"""The console's screen, driven by keys: conversations, questions, views, in 80x24 and wide."""

import pytest
from textual.events import Key, Paste

from agiraph.core.ids import NodeId
from agiraph.http.api import ApiError, BoardView, FileContentView, NodeView
from cli.console.commands import BudgetCommand
from cli.console.ui.conversation_panel import TalkPanel
from cli.console.ui.input_line import InputLine
from cli.console.ui.panels import TeamPanel
from cli.console.ui.question_bar import QuestionBar
from tests.unit.cli.console.ui.fakes import (
    FakeSource,
    asked,
    away,
    console,
    events,
    happened,
    members,
    message,
    screen_of,
    settle,
    spent,
    streamed,
    team,
    tool,
)
from tests.unit.cli.fakes import question

KEYS = {"/": "slash", "\r": "enter"}


def board(*names: str) -> BoardView:
    nodes = [
        NodeView(id=NodeId(f"n-{name}"), name=name, role="worker", task=f"Look at {name}",
                 status="running", assigned_worker="ada", dependencies=("prices",))
        for name in names
    ]  # fmt: skip
    return BoardView(nodes=tuple(nodes))


async def test_screen_shows_senders_and_messages_within_80_columns() -> None:
    feed = FakeSource(team("ada"), events(*tool(1, "make", "coordinator")))
    feed.news.append(events(message(1, "Found **3** tables")))
    async with console(feed) as (app, _pilot, feed):
        shown = screen_of(app)
        assert "ada → coordinator" in shown
        assert "Found 3 tables" in shown
        assert "▸ coordinator bash make" in shown
        assert "did make" not in shown
        assert not app.query_one(TeamPanel).display
        assert len(shown.splitlines()) == 24


async def test_a_tool_call_is_opened_and_folded_by_a_key_and_by_a_click() -> None:
    async with console(FakeSource(team("ada"), events(*tool(1, "make test", "coordinator")))) as (
        app,
        pilot,
        feed,
    ):
        await pilot.press("escape", "up", "enter")
        await settle(pilot, feed)
        assert "did make test" in screen_of(app)
        await pilot.press("enter")
        await settle(pilot, feed)
        assert "did make test" not in screen_of(app)
        await pilot.click(TalkPanel, offset=(5, 0))
        await settle(pilot, feed)
        assert "command: make test" in screen_of(app)


async def test_team_panel_of_a_wide_screen_selects_an_entity() -> None:
    async with console(
        FakeSource(team("ada", "bob"), events(*tool(1, "make"))), size=(120, 40)
    ) as (app, pilot, feed):
        shown = screen_of(app)
        assert "whole team" in shown
        assert "● ada" in shown
        assert "bash make" not in shown
        await pilot.press("ctrl+n")
        await settle(pilot, feed)
        assert app.state.selected == "ada-aaaaaa"
        assert "bash make" in screen_of(app)
        assert "ada>" in screen_of(app)
        await pilot.press(*"hello", "enter")
        await settle(pilot, feed)
        assert feed.did == [("say", "ada", "hello", "steer")]


async def test_finished_worker_stays_in_the_list_and_the_sum_and_is_folded() -> None:
    both = FakeSource(team("ada", "bob"), members("ada", "bob"), spent(466_000, 0.35))
    async with console(both, size=(120, 40)) as (app, pilot, feed):
        assert "466k $0.35" in screen_of(app)
        assert "finished" not in screen_of(app)
        feed.news += [team("ada"), members("ada", bob="stopped"), events(*tool(1, "make", "bob"))]
        await settle(pilot, feed)
        shown = screen_of(app)
        assert shown.count("466k") == 2
        assert "▾ 1 finished" in shown
        assert "■ bob" in shown
        await pilot.press("ctrl+p", "ctrl+p")
        await settle(pilot, feed)
        assert app.state.selected == "bob-aaaaaa"
        assert "bash make" in screen_of(app)
        await pilot.press("f2", "f2", "down", "down", "enter")
        await settle(pilot, feed)
        assert "▸ 1 finished" in screen_of(app)
        assert "■ bob" not in screen_of(app)
        await pilot.press("enter")
        await settle(pilot, feed)
        assert "■ bob" in screen_of(app)


async def test_the_side_panel_unfolds_by_a_key_on_a_small_screen() -> None:
    async with console(FakeSource(team("ada", "bob"))) as (app, pilot, feed):
        await pilot.press("f2")
        await settle(pilot, feed)
        assert "● ada" in screen_of(app)
        await pilot.press("down", "down", "enter")
        await settle(pilot, feed)
        assert app.state.selected != "coordinator"
        await pilot.press("f2")
        await settle(pilot, feed)
        assert "whole team" not in screen_of(app)


async def test_one_key_answers_a_question_with_options() -> None:
    async with console(FakeSource(team("alice"))) as (app, pilot, feed):
        feed.news.append(asked(question(options=("PostgreSQL", "SQLite"))))
        await settle(pilot, feed)
        assert isinstance(app.focused, QuestionBar)
        assert "1  PostgreSQL" in screen_of(app)
        await pilot.press("2")
        await settle(pilot, feed)
        assert feed.did == [("answer", "q-1", "SQLite")]
        assert "PostgreSQL" not in screen_of(app)
        assert isinstance(app.focused, InputLine)


async def test_new_question_does_not_take_the_focus_while_typing() -> None:
    async with console(FakeSource(team("alice"))) as (_app, pilot, feed):
        await pilot.press(*"use ")
        feed.news.append(asked(question(options=("PostgreSQL", "SQLite"))))
        await settle(pilot, feed)
        await pilot.press(*"2 tables", "enter")
        await settle(pilot, feed)
        assert feed.did == [("say", "coordinator", "use 2 tables", "steer")]
        await pilot.press("escape", "1")
        await settle(pilot, feed)
        assert feed.did[1:] == [("answer", "q-1", "PostgreSQL")]


async def test_question_is_answered_with_typed_text() -> None:
    async with console(FakeSource(team("alice"))) as (app, pilot, feed):
        feed.news.append(asked(question()))
        await settle(pilot, feed)
        await pilot.press(*"both")
        assert "answer alice>" in screen_of(app)
        await pilot.press("enter")
        await settle(pilot, feed)
        assert feed.did == [("answer", "q-1", "both")]
        assert "coordinator>" in screen_of(app)


async def test_urgent_question_comes_first_and_others_can_be_selected() -> None:
    two = [question("q-1"), question("q-2", question="Stop it?", urgency="urgent")]

    async with console(FakeSource(team("alice"))) as (app, pilot, feed):
        feed.news.append(asked(*two))
        await settle(pilot, feed)
        assert "‼ alice asks: Stop it?" in screen_of(app)
        await pilot.press("right")
        await settle(pilot, feed)
        assert "Which database?" in screen_of(app)


async def test_refused_second_answer_is_shown_and_the_question_disappears() -> None:
    async with console(FakeSource(team("alice"))) as (app, pilot, feed):
        feed.answer_with = ApiError(409, "was answered by anna at noon: SQLite")
        feed.news.append(asked(question(options=("yes",))))
        await settle(pilot, feed)
        await pilot.press("1")
        await settle(pilot, feed)
        assert "answered by anna" in screen_of(app)
        feed.news.append(asked())
        await settle(pilot, feed)
        assert "Which database?" not in screen_of(app)


async def test_typed_lines_are_executed() -> None:
    lines: dict[str, tuple[object, ...]] = {
        "@ada only tables": ("say", "ada", "only tables", "steer"),
        "@* wrap up": ("say", "*", "wrap up", "steer"),
        "/interrupt @ada stop that": ("say", "ada", "stop that", "interrupt"),
        "/interrupt stop that": ("say", "coordinator", "stop that", "interrupt"),
        "/pause ada": ("pause", "survey-3fa9c1/ada"),
        "/resume": ("resume", "survey-3fa9c1"),
        "/budget": ("budget", BudgetCommand()),
        "/budget $5 a day": ("budget", BudgetCommand(usd=5, period="day")),
        "//etc is a folder": ("say", "coordinator", "/etc is a folder", "steer"),
    }

    async with console(FakeSource(team("ada"))) as (app, pilot, feed):
        for line in lines:
            app.query_one(InputLine).put(line)
            await pilot.press("enter")
            await settle(pilot, feed)
            assert app.query_one(InputLine).value == ""
        assert feed.did == list(lines.values())


async def test_the_whole_team_is_stopped_only_after_a_yes() -> None:
    async with console(FakeSource(team("ada"))) as (app, pilot, feed):
        for key in ("n", "y"):
            app.query_one(InputLine).put("/stop")
            await pilot.press("enter")
            await settle(pilot, feed)
            assert "Stop the whole team" in screen_of(app)
            await pilot.press(key)
            await settle(pilot, feed)
        assert feed.did == [("stop", "survey-3fa9c1")]


async def test_refused_line_is_reported_and_kept_for_editing() -> None:
    async with console(FakeSource(team("ada"))) as (app, pilot, feed):
        app.query_one(InputLine).put("/dance")
        await pilot.press("enter")
        await settle(pilot, feed)
        assert "unknown command '/dance'" in screen_of(app)
        assert app.query_one(InputLine).value == "/dance"


async def test_commands_and_names_are_completed_and_the_history_is_recalled() -> None:
    async with console(FakeSource(team("ada", "bob"))) as (app, pilot, _feed):
        line = app.query_one(InputLine)
        await pilot.press(*"/int", "tab")
        assert line.value == "/interrupt "
        await pilot.press(*"@b", "tab")
        assert line.value == "/interrupt @bob "
        await pilot.press(*"now", "enter", "up")
        assert line.value == "/interrupt @bob now"
        await pilot.press("down")
        assert line.value == ""
        await pilot.press("at", "tab", "tab")
        assert line.value == "@ada "


async def test_views_are_reached_by_keys_and_by_commands() -> None:
    feed = FakeSource(team("ada"), lambda state: state.set_board(board("tables")))
    plan = FileContentView(path="_plan.md", content="# The plan\n\nFirst", size=17, returned=17)
    feed.files["_plan.md"] = plan
    async with console(feed) as (app, pilot, feed):
        await pilot.press("f3")
        await settle(pilot, feed)
        assert "STATUS" in screen_of(app)
        assert "● running" in screen_of(app)
        assert "needs: prices" in screen_of(app)
        await pilot.press("t")
        await settle(pilot, feed)
        assert "└ ada" in screen_of(app) or "├ ada" in screen_of(app)
        await pilot.press("f")
        await settle(pilot, feed)
        assert "_plan.md" in screen_of(app)
        await pilot.press("down", "enter")
        await settle(pilot, feed)
        assert "The plan" in screen_of(app)
        await pilot.press("question_mark")
        await settle(pilot, feed)
        assert "What can be typed" in screen_of(app)
        await pilot.press("escape")
        await settle(pilot, feed)
        assert isinstance(app.focused, InputLine)
        app.query_one(InputLine).put("/tree")
        await pilot.press("enter")
        await settle(pilot, feed)
        assert app.state.panel == "tree"


async def test_streamed_text_is_shown_live_and_once_when_complete() -> None:
    async with console(FakeSource(team("ada"), streamed("Once upon"))) as (app, pilot, feed):
        assert "is writing…" in screen_of(app)
        assert "Once upon" in screen_of(app)
        text = "Once upon a time"
        feed.news.append(events(happened("model.answered", 1, "coordinator", text=text, call="c")))
        await settle(pilot, feed)
        assert "is writing…" not in screen_of(app)
        assert screen_of(app).count("Once upon") == 1


async def test_lost_connection_is_shown_until_it_returns() -> None:
    async with console(FakeSource(team("ada"))) as (app, pilot, feed):
        feed.news.append(away("gateway", True))
        await settle(pilot, feed)
        assert "reconnecting (gateway)" in screen_of(app)
        feed.news.append(away("gateway", False))
        await settle(pilot, feed)
        assert "● live" in screen_of(app)


async def test_a_text_is_shown_at_once_and_once() -> None:
    async with console(FakeSource(team("ada"))) as (app, pilot, feed):
        feed.news.append(lambda state: state.post_text("p1", "ada", "only tables", 1_700_000_050.0))
        await settle(pilot, feed)
        assert "sending" in screen_of(app)
        feed.news += [
            lambda state: state.accept_text("p1", "m7"),
            events(message(7, "only tables", "human", "ada")),
        ]
        await settle(pilot, feed)
        assert "sending" not in screen_of(app)
        assert screen_of(app).count("only tables") == 1


async def test_text_of_an_entity_is_sanitized_for_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u202egnp\x9b2J"

    feed = FakeSource(team("ada"), events(message(1, evil)))
    feed.news.append(events(*tool(1, evil, "coordinator")))
    feed.news += [
        asked(question(question=evil, options=(evil,))),
        lambda state: state.set_board(board(evil)),
    ]
    feed.news.append(streamed(evil))
    async with console(feed, size=(120, 40)) as (app, pilot, feed):
        for key in ("f3", "f5", "f4"):
            shown = screen_of(app)
            assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
            assert "owned" not in shown
            await pilot.press(key)
            await settle(pilot, feed)


async def test_older_entries_are_loaded_when_scrolling_to_the_beginning() -> None:
    happenings = [
        happened("stage.started", n, "coordinator", stage=f"Nr {n}") for n in range(9, 99)
    ]
    async with console(FakeSource(team("ada"), events(*happenings))) as (app, pilot, feed):
        first = happened("stage.started", 1, "coordinator", stage="The very first")
        feed.past = [events(first, is_older=True)]
        await pilot.press("escape", "home")
        await settle(pilot, feed)
        await pilot.press("home")
        await settle(pilot, feed)
        assert "The very first" in screen_of(app)


async def test_ctrl_c_exits_at_the_second_press(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.console.ui.app.TWICE_SECONDS", 60.0)  # a busy machine is slow to draw
    async with console(FakeSource(team("ada"))) as (app, pilot, _feed):
        await pilot.press("ctrl+c")
        assert "again to leave" in screen_of(app)
        assert app.is_running
        await pilot.press("ctrl+c")
        assert app._exit


async def test_typing_works_while_hundreds_of_events_arrive() -> None:
    async with console(FakeSource(team("ada"))) as (app, pilot, feed):
        for burst in range(4):
            start = 1 + burst * 400
            happenings = [happened("stage.started", start + n, "coordinator") for n in range(400)]
            feed.news.append(events(*happenings))
            await pilot.press("x")
        await settle(pilot, feed)
        assert app.query_one(InputLine).value == "xxxx"
        assert len(app.state.shown) == 1600


async def test_new_entries_do_not_move_a_scrolled_view() -> None:
    happenings = [
        happened("stage.started", n, "coordinator", stage=f"Nr {n}") for n in range(1, 90)
    ]
    async with console(FakeSource(team("ada"), events(*happenings))) as (app, pilot, feed):
        talk = app.query_one(TalkPanel)
        assert talk.follows
        assert "Nr 89" in screen_of(app)
        await pilot.press("pageup", "pageup")
        await settle(pilot, feed)
        before = talk.scroll_offset.y
        feed.news.append(events(happened("stage.started", 99, "coordinator", stage="Newest")))
        await settle(pilot, feed)
        assert talk.scroll_offset.y == before
        assert "Newest" not in screen_of(app)
        await pilot.press("escape", "end")
        await settle(pilot, feed)
        assert "Newest" in screen_of(app)


async def test_lines_that_are_typed_ahead_stay_lines_of_their_own() -> None:
    async with console(FakeSource(team("ada"))) as (app, pilot, feed):
        for key in (*"one", "enter", *"two", "enter"):  # all at once, as a terminal hands them over
            character = key if len(key) == 1 else "\r"
            app.post_message(Key(key, character))
        await settle(pilot, feed)
        await settle(pilot, feed)
        assert [act[2] for act in feed.did] == ["one", "two"]


async def test_command_typed_outside_the_input_line_keeps_its_letters() -> None:
    async with console(FakeSource(team("ada"), asked(question()))) as (app, pilot, feed):
        assert app.query_one(QuestionBar).has_focus
        for character in "/board\r":
            app.post_message(Key(KEYS.get(character, character), character))
        await settle(pilot, feed)
        assert app.state.panel == "board"
        await pilot.press("escape")
        feed.news.append(asked())
        await settle(pilot, feed)
        assert app.query_one(InputLine).value == ""
        assert app.query_one(InputLine).has_focus


async def test_focus_returns_to_the_input_line_when_the_question_disappears() -> None:
    async with console(FakeSource(team("ada"), asked(question()))) as (app, pilot, feed):
        feed.news.append(asked())
        await settle(pilot, feed)
        await pilot.press(*"yes")
        assert app.query_one(InputLine).value == "yes"


async def test_text_pasted_on_a_question_starts_its_answer() -> None:
    async with console(FakeSource(team("ada"), asked(question()))) as (app, pilot, feed):
        app.query_one(QuestionBar).post_message(Paste("PostgreSQL,\n as ever"))
        await settle(pilot, feed)
        await pilot.press("enter")
        await settle(pilot, feed)
        assert feed.did == [("answer", "q-1", "PostgreSQL, as ever")]
