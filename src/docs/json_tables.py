"""The tables of json.md, in Markdown, from the schema: the shared keys, then each object.

    gridsweep help --schema | python3 json_tables.py
"""

import json
import re
import sys

SCHEMA = json.load(sys.stdin)
SHARED = "#/$defs/keys/"


def marked(text):
    """Options, keys and quoted words as code."""
    return re.sub(r"'([^']+)'|(--[a-z-]+(?<!-)|\b\w+_\w+\b)", lambda m: f"`{m[1] or m[2]}`", text)


def print_table(members):
    print("\n| key | unit | meaning | null when |\n| --- | --- | --- | --- |")
    for key, member in members.items():
        text, _, null = member["description"].partition(" Null: ")
        text, _, unit = text.partition(" Unit: ")
        print(f"| `{key}` | {unit.rstrip('.').replace('none', '1')} | {marked(text)} | "
              f"{marked(null.rstrip('.'))} |")


print("\n### Shared keys")
print_table(SCHEMA["$defs"]["keys"]["$defs"])
for definition in SCHEMA["$defs"].values():
    keys = definition.get("properties", {})
    own = {key: member for key, member in keys.items() if SHARED not in member.get("$ref", "")}
    if keys:
        print(f"\n### {definition['title'].replace(' --', ', ')}\n")
        print(marked(definition["description"]))
    if len(own) < len(keys):
        print(f"Shared keys: {', '.join(f'`{key}`' for key in keys if key not in own)}.")
    if own:
        print_table(own)
