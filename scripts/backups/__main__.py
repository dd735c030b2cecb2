"""`python -m scripts.backups save FOLDER` and `... restore FILE [--into URL]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from labhub_voice import env
from scripts.backups import copy
from scripts.backups.errors import Refused

ROOT = Path(__file__).resolve().parents[2]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/backup")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("save").add_argument("folder", type=Path)
    back = verbs.add_parser("restore")
    back.add_argument("file", type=Path)
    back.add_argument("--into", metavar="URL", help="instead of DATABASE_URL")
    got = parser.parse_args(argv)
    try:
        if got.verb == "save":
            path = copy.save(_url(), got.folder)
            print(f"{path} ({path.stat().st_size / 1e6:.1f} MB): {_said(copy.read_about(path))}")
        else:
            print(f"restored and compared: {_said(copy.restore(got.file, got.into or _url()))}")
    except Refused as error:
        print(f"{got.verb}: {error}", file=sys.stderr)
        return 1
    return 0


def _url() -> str:
    state = Path(env.text("LABHUB_STATE_DIR", str(ROOT / ".labhub"))).absolute()
    return env.text("DATABASE_URL", f"sqlite://{state}/labhub.sqlite3")


def _said(about: dict[str, object]) -> str:
    rows = about["rows"]
    assert isinstance(rows, dict)
    return (
        f"{rows['labs_grade']} grades, {rows['labs_attempt']} attempts, {rows['auth_user']} people,"
        f" migration {about['migration']}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
