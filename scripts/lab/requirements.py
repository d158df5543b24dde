"""A go.mod that builds a program of MODULE as its own tree would: `requirements.py MODULE VERSION GO_MOD PACKAGE`.

A replacement by a folder next to the module becomes the published module of the same release:
`k8s.io/api` of Kubernetes v1.36.3 is v0.36.3.
"""

import json
import subprocess
import sys
from typing import Any


def lines(module: str, version: str, data: dict[str, Any], package: str) -> list[str]:
    """The lines of the go.mod; `data` is what `go mod edit -json` prints of the module's own."""
    found = ["module lab", f"go {data['Go']}", f"tool {package}", f"require {module} {version}"]
    local = set()
    for each in data.get("Replace") or ():
        old, new = each["Old"], each["New"]
        if new["Path"].startswith("."):
            local.add(old["Path"])
            if old["Path"].startswith("k8s.io/"):
                found.append(f"replace {old['Path']} => {old['Path']} v0.{version.removeprefix('v1.')}")
            elif old["Path"].endswith(version.split(".", maxsplit=1)[0]):
                found.append(f"replace {old['Path']} => {old['Path']} {version}")
            continue
        before = f"{old['Path']} {old['Version']}" if old.get("Version") else old["Path"]
        found.append(f"replace {before} => {new['Path']} {new.get('Version', '')}".rstrip())
    found += [f"require {each['Path']} {each['Version']}" for each in data["Require"] if each["Path"] not in local]
    return found


if __name__ == "__main__":
    printed = subprocess.run(["go", "mod", "edit", "-json", sys.argv[3]], check=True, capture_output=True)
    print("\n".join(lines(sys.argv[1], sys.argv[2], json.loads(printed.stdout), sys.argv[4])))
