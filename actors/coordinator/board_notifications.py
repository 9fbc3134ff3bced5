"""BoardNotifications: what the board has to tell the mind; it follows from both, so no crash loses
any."""

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.notices import notice
from agiraph.agent.records import InputReceived
from agiraph.board import events as e
from agiraph.core.ids import NodeId

BOARD_NAME = "board"


class BoardNotifications:
    """The board's events that the mind has not looked at yet."""

    def __init__(self, board_service: BoardService, context: CoordinatorContext) -> None:
        """Begin behind the last event that the conversation knows of."""
        self._board_service = board_service
        self._context = context
        transcript = context.transcript
        # A board whose journal lost its end has fewer events than the conversation knows of.
        self._noticed = min(transcript.board_seq, board_service.count)

    def take(self) -> list[InputReceived]:
        """Return what there is to tell, as one turn; it is not told again."""
        lines = self._lines()
        self._noticed = self._board_service.count
        self._board_service.forget(self._noticed)
        if not lines:
            return []
        triggers = {trigger for _, trigger in lines}
        return [
            InputReceived(
                content="\n".join(line for line, _ in lines),
                from_name=BOARD_NAME,
                ts=self._context.now(),
                board_seq=self._noticed,
                trigger=(triggers.pop() or None) if len(triggers) == 1 else None,
            )
        ]

    def has_news(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self._lines())

    def has_alarm(self) -> bool:
        """Whether a deadlock was found that the mind has not been told of."""
        fresh = self._board_service.since(self._noticed)
        return any(isinstance(event, e.DeadlockFound) for event in fresh)

    def _lines(self) -> list[tuple[str, str]]:
        """Return what each event is told as, with the trigger that led to it ('': none did)."""
        board, covered = self._board_service.board, self._context.transcript.covered
        fresh = self._board_service.since(self._noticed)
        told = [(event, notice(board, event, covered)) for event in fresh]
        return [(line, self._trigger_of(event)) for event, line in told if line]

    def _trigger_of(self, event: e.BoardEvent) -> str:
        node = self._board_service.board.nodes.get(getattr(event, "node_id", NodeId("")))
        return node.trigger if node is not None else ""
