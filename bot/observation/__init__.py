"""What the outside world showed, and what evidence found in it: records that the floors above reason over."""
