"""The model that is built in: plays a playbook with the real tools; needs no key and no network."""
