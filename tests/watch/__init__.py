"""The watch over tables without an incident, alerts from elsewhere, and what is due at a moment."""
