"""Posts what ``check`` finds to a webhook. From cron:

*/15 * * * *  python alert.py https://chat.example/hook trips orders

Each table is the name of a profile. Without findings nothing is posted. Exit code 1: the webhook did not take it, or a
table could not be checked.
"""

import sys

import requests

import hudictl
from hudictl.errors import HudictlError

TIMEOUT_S = 30


def report(profile: str) -> dict[str, object] | None:
    """What is to be posted of a table; None where there is nothing."""
    try:
        with hudictl.open(profile=profile) as table:
            findings = table.check().findings
    except HudictlError as error:
        # Not its message: it may quote what a store has answered.
        text = f"{profile}: not checked ({error.slug}): run `hudictl check -t {profile}`"
        return {"table": profile, "text": text, "error": error.slug, "exit_code": error.exit_code, "findings": []}
    if not findings:
        return None
    rows = [
        {
            "finding": found.finding,
            "severity": found.severity,
            "subject": found.subject,
            "meaning": found.meaning,
            "advice": found.advice,
        }
        for found in findings
    ]
    return {"table": profile, "text": f"{profile}: {len(rows)} findings of hudictl check", "findings": rows}


def main(webhook: str, *profiles: str) -> int:
    """Posts one message for each table with findings; returns the exit code."""
    code = 0
    for found in filter(None, map(report, profiles)):
        code = 1 if "error" in found else code
        try:
            requests.post(webhook, json=found, timeout=TIMEOUT_S).raise_for_status()
        except requests.RequestException as error:
            print(f"{found['text']}; the webhook did not take it: {type(error).__name__}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
