"""Text: entities talk."""

from agiraph.core.models import DeliveryMode
from agiraph.messages.body import Body


class TextMessage(Body):
    """Free text between entities. `from_name` is how the receiver shows the sender.

    A reply names the message that it answers (its id in hexadecimal) and quotes how that begins.
    """

    TYPE = "text"
    DURABLE = True
    content: str
    from_name: str
    to_name: str = ""
    mode: DeliveryMode = "steer"
    in_reply_to: str = ""
    quoted: str = ""
