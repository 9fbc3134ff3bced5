"""Pictures of turns in requests: their bytes as base64, or a line of text for a blind model. Pure.

| format | in a message of the user | in the result of a call |
| --- | --- | --- |
| Messages | an `image` block | an `image` block in the `tool_result` |
| Responses | an `input_image` part | an `input_image` part in the list of `output` |
| Chat Completions | an `image_url` part | not allowed: a message of the user follows the results |
| Gemini | `inlineData` | in `parts` of the `functionResponse` (Gemini 3), else beside it |
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from agiraph.core.turns import (
    JsonObject,
    ModelRequest,
    Picture,
    ToolTurn,
    UserTurn,
)
from agiraph.models.registry import ModelTraits

BLIND = "[{name}: a picture of {width} x {height} pixels ({kind}), not shown: {why}]"
HAS_NO_VISION = "this model cannot see images"
IS_GONE = "its content is no longer stored; read the file again"
OF_RESULT = "[Pictures in the result of {name}: {names}]"


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """A picture with its bytes in base64."""

    media_type: str
    data: str

    @property
    def url(self) -> str:
        """The picture as a data URL."""
        return f"data:{self.media_type};base64,{self.data}"


@dataclass(frozen=True, slots=True)
class PictureEncoder:
    """Encodes the pictures of one request for a model."""

    request: ModelRequest
    traits: ModelTraits

    def encoded(self, turn: UserTurn | ToolTurn) -> list[EncodedPicture]:
        """Return the pictures of a turn that the model is shown."""
        return [
            EncodedPicture(
                one.media_type, base64.b64encode(self.request.pictures[one.digest]).decode()
            )
            for one in turn.pictures
            if not self._why_not(one)
        ]

    def text(self, turn: UserTurn | ToolTurn) -> str:
        """Return the text of a turn, with a line for each picture that the model is not shown."""
        return "\n".join(filter(None, [turn.content, *self._lines(turn)]))

    def _lines(self, turn: UserTurn | ToolTurn) -> Iterator[str]:
        for one in turn.pictures:
            if why := self._why_not(one):
                kind = one.media_type.removeprefix("image/").upper()
                size = {"width": one.width, "height": one.height}
                yield BLIND.format(name=one.name, kind=kind, why=why, **size)

    def _why_not(self, picture: Picture) -> str:
        if not self.traits.vision:
            return HAS_NO_VISION
        return "" if picture.digest in self.request.pictures else IS_GONE


def label_of(turn: ToolTurn) -> str:
    """Return the text before pictures that follow the result to which they belong."""
    names = ", ".join(one.name for one in turn.pictures)
    return OF_RESULT.format(name=turn.name, names=names)


def without_bytes(request: ModelRequest) -> ModelRequest:
    """Return a request without the bytes of its pictures, to be kept in memory."""
    return request.model_copy(update={"pictures": {}}) if request.pictures else request


def url_parts(pictures: list[EncodedPicture]) -> list[JsonObject]:
    """Return pictures as parts of a Chat Completions message."""
    return [{"type": "image_url", "image_url": {"url": one.url}} for one in pictures]
