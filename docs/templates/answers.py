"""Answer refold's prompts from answers.json, by the digest of what refold sends."""

import json
import re
import sys
from hashlib import sha256
from pathlib import Path


def quoted(place: re.Match[str]) -> str:
    """Return words of the prompt; answers about other people's sessions hold places instead."""
    line, start, end = map(int, place.groups())
    return json.dumps(prompt.splitlines()[line][start:end], ensure_ascii=False)[1:-1]


prompt = sys.stdin.read()
answers = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
answer = answers.get(sha256(prompt.encode()).hexdigest()[:12])
if answer is None:
    sys.exit("no answer is recorded for this prompt")
sys.stdout.write(re.sub(r"⟦(\d+):(\d+)-(\d+)⟧", quoted, answer))
