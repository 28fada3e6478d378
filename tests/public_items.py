#!/usr/bin/env python3
"""Counts the public items of the library, `raw` left out, and fails above 350.

An item is a module, type, trait, function, constant, macro, or a method or constant of one; not what
it implements of traits, nor variants and fields. Read from fresh pages of rustdoc.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

PAGES = Path(__file__).parent.parent / "target/doc/bloomgrove"
MOST = 350

# Pages of what is gone would stay.
shutil.rmtree(PAGES, ignore_errors=True)
# All of the workspace, since what the linter has compiled serves here again.
subprocess.run(["cargo", "doc", "--workspace", "--all-features", "--no-deps", "--quiet"], check=True)
links = re.findall(r'<li><a href="([^"]+)">', (PAGES / "all.html").read_text())
links = [link for link in links if not link.startswith("raw/")]
items = {str(Path(link).parent): [] for link in links if "/" in link}
for link in links:
    own = re.split('id="(?:deref-methods|trait-implementations|foreign-impls|implementors)', (PAGES / link).read_text())[0]
    parts = re.findall(r'<section id="(?:ty)?(?:method|associatedconstant)\.([^"]+)"', own)
    # The methods of an alias are those of its type.
    items[link] = [] if "type." in link else sorted(set(parts))
count = len(items) + sum(map(len, items.values()))
if "--list" in sys.argv:
    for item, parts in sorted(items.items()):
        print(item.removesuffix(".html"), *parts)
print(f"{count} public items, at most {MOST}")
sys.exit(count > MOST)
