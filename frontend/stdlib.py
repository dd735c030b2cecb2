"""Runs inside Pyodide at build time: source.zip in, compiled.zip out, without what no answer needs."""

import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

PARTS = {
    "_pyrepl", "__phello__", "multiprocessing", "sqlite3", "unittest", "wsgiref", "xml", "xmlrpc",
    "bdb.py", "doctest.py", "ftplib.py", "imaplib.py", "mailbox.py", "modulefinder.py", "optparse.py", "pdb.py",
    "pickletools.py", "plistlib.py", "poplib.py", "profile.py", "pstats.py", "pydoc.py", "smtplib.py",
    "socketserver.py", "trace.py", "wave.py",
}  # fmt: skip
CODECS = {
    "__init__", "aliases", "ascii", "charmap", "cp1252", "cp437", "cp949", "euc_kr", "idna", "latin_1", "punycode",
    "raw_unicode_escape", "undefined", "unicode_escape", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be",
    "utf_32_le", "utf_8", "utf_8_sig",
}  # fmt: skip


def is_kept(name: str) -> bool:
    top, _, rest = name.partition("/")
    if top == "encodings":
        return rest.removesuffix(".py") in CODECS
    return top not in PARTS and not name.startswith("ctypes/macholib/")


with zipfile.ZipFile("source.zip") as source, zipfile.ZipFile("compiled.zip", "w") as compiled:
    for name in sorted(source.namelist()):
        if name.endswith(".py") and is_kept(name):
            code = compile(source.read(name), f"/lib/{name}", "exec", dont_inherit=True)
            entry = zipfile.ZipInfo(name + "c", (1980, 1, 1, 0, 0, 0))
            compiled.writestr(entry, _code_to_hash_pyc(code, bytes(8), checked=False))
