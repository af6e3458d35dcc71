"""Recorded incidents of the lab, and the outermost ports that play them back."""
