"""`make bench`: how fast the bot answers, as ratios in one run. Nothing here is a test: a speed is never asserted."""
