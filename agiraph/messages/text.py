"""Text: messages between entities."""

from agiraph.core.models import DeliveryMode
from agiraph.messages.body import MessageBody


class TextMessage(MessageBody):
    """Text from one entity to another. `from_name` is the sender's name as shown to the receiver.

    A reply has the id of the message that it answers (in hexadecimal) and quotes its beginning. A
    text to several receivers is a message for each; `copy_of` is the id of the first.
    """

    TYPE = "text"
    DURABLE = True
    content: str
    from_name: str
    to_name: str = ""
    mode: DeliveryMode = "steer"
    in_reply_to: str = ""
    quoted: str = ""
    copy_of: str = ""
