"""Consumers are told, once, by every way; nothing is lost when the bot dies, and nobody is left out in silence."""
