"""The watch: it looks at tables that have no incident, and tells people what it found."""
