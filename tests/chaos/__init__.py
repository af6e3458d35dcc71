"""`make chaos`: the bot is killed at random moments while people click and the job commits; then rules are checked."""
