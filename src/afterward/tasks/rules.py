"""What the rules are, for those who list and explain them."""

from __future__ import annotations


def listed() -> list[tuple[str, str, str, str]]:
    """(code, name, severity, summary) of every rule."""
    from afterward.rules import all_rules

    return [(rule.code, rule.name, rule.severity.value, rule.summary) for rule in all_rules()]


def page_of(code_or_name: str) -> str:
    from afterward.rules import find_rule

    return find_rule(code_or_name).page()
