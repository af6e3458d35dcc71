"""What people do in the workspace, as Slack's own client would send it: say, command, click, fill, submit."""
