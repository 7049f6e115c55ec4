"""The words that tell a name in code from prose."""

from __future__ import annotations

from typing import Final

from projections.extraction.words import words

BRANDS: Final = words(
    "GitHub GitLab BitBucket JavaScript TypeScript CoffeeScript macOS iOS iPadOS tvOS iPhone iPad iTerm OpenAI"
    " OpenRouter DeepSeek YouTube LinkedIn PayPal eBay PostgreSQL MySQL MariaDB SQLite NoSQL MongoDB DynamoDB"
    " GraphQL OAuth VSCode JetBrains IntelliJ WebStorm PyCharm PhpStorm PowerShell PyPI PyTorch TensorFlow NumPy"
    " SciPy WordPress DevOps DevTools ChatGPT LaTeX FreeBSD OpenBSD OpenSSL OpenSSH OpenAPI OpenTelemetry CircleCI"
    " jQuery gRPC mTLS FastAPI RabbitMQ CloudFlare DockerHub HuggingFace LangChain LangGraph LlamaIndex MacBook"
    " AirPods WiFi DocBlock PHPDoc JavaDoc McDonald PhD kWh"
)
"""Products, techniques and names that are written like names in code: a small list, not all there are."""
LITERALS: Final = words("true false null nil none None True False undefined NaN")
"""Values that stand between backticks and name nothing."""
KEYWORDS: Final = words("if for while switch catch return function async await super def fn func")
"""Words of languages that brackets may follow."""
RESERVED: Final = words(
    "__dirname __filename __construct __destruct __call __callStatic __get __set __isset __unset __toString"
    " __invoke __clone __sleep __wakeup __serialize __unserialize __debugInfo"
)
"""Names that PHP and Node gave their meaning; those of Python and C end in underscores as well."""
HOSTS: Final = words("com org net io dev edu gov example invalid")
"""Ends of hosts' names."""
NO_LEFT: Final = words("e i eg ie ph etc vs cf ca approx fig no a.k.a")
NO_RIGHT: Final = words(
    "a actually also and as at because but can do don for from great he here how however i if in instead it its let"
    " lets looking next no not now of ok on once only or perfect please she should since so still that the then there"
    " these they this those to we what when where which while why will with yes you your e g git js json md ts txt"
)
"""What begins the next sentence behind a full stop without a blank, or is a file's extension."""
