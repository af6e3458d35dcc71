"""Tells the reduced story of each seed at which a rule is broken.

python -m tests.diagnosis.histories wrongly_safe [wide] 989 1785
"""

import sys

from tests.diagnosis.histories import held
from tests.diagnosis.histories.drawn import plan_of, played, reduced

RULES = {
    rule.__name__: rule for rule in (held.wrongly_safe, held.wrongly_clean, held.wrongly_acquitted, held.false_alarms)
}

if __name__ == "__main__":
    holds = RULES[sys.argv[1]]
    wide = "wide" in sys.argv
    for seed in (int(each) for each in sys.argv[2:] if each != "wide"):
        plan = plan_of(seed, with_mistakes=holds is not held.false_alarms, wide=wide)
        if holds(played(plan)):
            plan = reduced(plan, lambda smaller: bool(holds(played(smaller))))
        sys.stdout.write(f"{held.in_words(plan, holds(played(plan)))}\n\n")
