"""The process `router`: passes messages between all others."""
