"""What coordinator and worker processes share: the way to the broker, the reception, the talk."""
