"""What happened to a table, answered once: starts of the job, the state that it stands at, what main holds, the proof.

Pure, and above the records of the outside world only. `docs/how-it-knows.md` explains the model.
"""
