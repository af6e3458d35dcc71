"""What happened to a table, answered once. Pure, and above the records of the outside world only.

Read in this order; `docs/how-it-knows.md` explains the idea.

| question | module |
|---|---|
| Are the rows of the window there once? | `base`, `counted` |
| Where does the living run stand? | `lineage` |
| What has a state behind it, and what became of rows that main lost? | `ancestry`, `rolled_back` |
| Is the table right, and does it stay so? | `proof` |
| What does a restore point hold, and which snapshot pairs with it? | `run_commits`, `restore` |
| What would a start from it write twice or lose, and which point is best? | `prediction`, `ranking` |
| Which records does it need, and until when can it be recovered? | `source_records`, `bot.incident.recovery_deadline` |
| What became of a checkpoint, or of a Flink manifest, without a commit? | `skipped_checkpoints`, `uncommitted` |
| Where did each run begin? | `starts`, `empty_starts` |
| Which commits are the job's own? | `other_jobs`, `other_writers` |
| What did main lose by a rollback? | `rollbacks` |
| Does evidence still hold of the table as it is now? | `staleness` |
| Which commits stand on a branch? | `branches` |
| Which commits of the job carry no ids, and who went on above a rollback by time? | `without_ids` |
| Which restores went back, so that rows are read again? | `rewinds` |
| With which window does an incident open? | `suspicion` |
"""
