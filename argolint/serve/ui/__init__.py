"""The file that Argo CD's UI loads (`extension-argolint.js`), plain and as an archive.

argocd-server serves every file below /tmp/extensions whose name matches `extension*.js` (server/server.go). argocd-extension-installer
unpacks an archive and copies its `resources/` there.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

FILE = "extension-argolint.js"


def source() -> bytes:
    """The JavaScript."""
    return Path(__file__).with_name(FILE).read_bytes()


def archive() -> bytes:
    """`resources/extension-argolint.js/extension-argolint.js` as .tar.gz, the same bytes each time."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in ("resources", f"resources/{FILE}"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        content = source()
        entry = tarfile.TarInfo(f"resources/{FILE}/{FILE}")
        entry.size, entry.mode = len(content), 0o644
        tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)
