"""The words that tell a name in code from prose."""

from __future__ import annotations

from typing import Final

BRANDS: Final = frozenset(
    "GitHub GitLab BitBucket JavaScript TypeScript CoffeeScript macOS iOS iPadOS tvOS iPhone iPad iTerm OpenAI"
    " OpenRouter DeepSeek YouTube LinkedIn PayPal eBay PostgreSQL MySQL MariaDB SQLite NoSQL MongoDB DynamoDB GraphQL"
    " OAuth VSCode JetBrains IntelliJ WebStorm PyCharm PhpStorm PowerShell PyPI PyTorch TensorFlow NumPy SciPy"
    " WordPress DevOps DevTools ChatGPT LaTeX FreeBSD OpenBSD OpenSSL OpenSSH OpenAPI OpenTelemetry CircleCI jQuery"
    " gRPC mTLS FastAPI RabbitMQ CloudFlare DockerHub HuggingFace LangChain LangGraph LlamaIndex MacBook AirPods WiFi"
    " DocBlock PHPDoc JavaDoc McDonald PhD kWh".split()
)
"""Products, techniques and names that are written like names in code: a small list, not all there are."""
LITERALS: Final = frozenset("true false null nil none None True False undefined NaN".split())
"""Values that stand between backticks and name nothing."""
KEYWORDS: Final = frozenset("if for while switch catch return function async await super def fn func".split())
"""Words of languages that brackets may follow."""
HOSTS: Final = frozenset("com org net io dev edu gov example invalid".split())
"""Ends of hosts' names."""
NO_LEFT: Final = frozenset("e i eg ie ph etc vs cf ca approx fig no a.k.a".split())
NO_RIGHT: Final = frozenset(
    "a actually also and as at because but can do don for from git great he here how i however if in instead it its js let lets looking next no not now"
    " of ok on once only or perfect please please she should since so still that the then there these they this those to"
    " we what when where which while why will with yes you your e g ts json md txt".split()
)
"""What begins the next sentence behind a full stop without a blank, or is a file's extension."""
