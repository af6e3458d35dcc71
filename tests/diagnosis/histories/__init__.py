"""Ordinary histories of a Flink job that writes an Iceberg table, drawn from seeds, and the truth counted beside them.

`table` and `sink` keep the rules of the two systems (shared facts: commits, recommits, Flink manifests), `source` what
there is to read, `job` the runs, `operators` and `neighbours` what people and other jobs do; `drawn` makes one history
of a seed, `truth` counts what is lost or doubled, `looked` what evidence finds, `by_task` what the product says of it
there, `held` says which answers are wrong, and `told` prints it all.
"""
