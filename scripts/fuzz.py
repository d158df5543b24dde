"""Coverage-guided fuzzing of `tests/fuzz/targets.py` with atheris: `fuzz.py TARGET [SECONDS] [FOLDER]`.

The folder collects inputs that reach new code; it starts as the corpus of the tests. An input that fails is written to the working directory as
`crash-*`: after the correction it belongs in `tests/fuzz/corpus/TARGET`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "fuzz" / "corpus"


def main(target: str, seconds: str = "600", folder: str = "") -> None:
    """Feed one target for this time."""
    import atheris

    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=["argolint", "argolint_rules"]):
        from tests.fuzz.targets import LONGEST, TARGETS
    own = Path(folder or CORPUS / target)
    own.mkdir(parents=True, exist_ok=True)
    seeds = [str(own), *([str(CORPUS / target)] if folder and (CORPUS / target).is_dir() else [])]
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *limits, *seeds], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
