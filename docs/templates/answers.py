"""Answer refold's prompts from answers.json, by the digest of what refold sends."""

import json
import sys
from hashlib import sha256
from pathlib import Path

prompt = sys.stdin.read()
answers = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
answer = answers.get(sha256(prompt.encode()).hexdigest()[:12])
sys.exit("no answer is recorded for this prompt") if answer is None else sys.stdout.write(answer)
