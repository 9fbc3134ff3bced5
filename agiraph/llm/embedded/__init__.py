"""The built-in model: plays a playbook with the real tools; needs no key and no network."""
