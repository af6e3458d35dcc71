"""What may be read of Waterline over HTTP: pages for people, an API for programs, an MCP server for agents."""
