"""The tour: recorded incidents, played."""
