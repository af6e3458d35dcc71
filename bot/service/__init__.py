"""Use cases: each public method is one thing that a person, a timer or a restart asks for."""
