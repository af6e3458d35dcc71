"""Ordinary histories of a Flink job that writes an Iceberg table, drawn from seeds, and the truth counted beside them.

`table` and `sink` keep the rules of the two systems (shared facts: commits, recommits, Flink manifests), `job` the
runs, `operators` and `neighbours` what people and other jobs do; `drawn` makes one history of a seed, `truth` counts
what is lost or doubled, `looked` what evidence finds, `held` says which answers are wrong, and `told` prints it all.
"""
