"""Questions to the human: asked, answered, expired, withdrawn, and the answer's way back."""
