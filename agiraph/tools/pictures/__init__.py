"""Pictures for models: files of images and pages of PDF files, scaled to a limited size.

`kinds` recognises files by their first bytes, `render` is the short-lived process that decodes an
untrusted file, `rendering` starts it within limits, `store` keeps the pictures of a conversation.
"""
