"""What a student's code might try on its way out of the sealed worker, as one `sse.py`."""

from __future__ import annotations

PROBES = """
import asyncio, json, sys

AT = {address!r}


async def pyfetch():
    import pyodide.http
    return await pyodide.http.pyfetch(AT + "pyfetch")


def spin(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        return end.value


def js(name):
    import js
    return getattr(js, name)


def inner(name):
    import pyodide_js
    return getattr(pyodide_js, name)


def global_this():
    import pyodide_js
    return pyodide_js.constructor.constructor("return globalThis")()


def pipe(kind):
    import socket
    return socket.create_connection((kind, 80), 1)


def url():
    import urllib.request
    return urllib.request.urlopen(AT + "urllib", timeout=1).status


def run_code(what):
    from pyodide.code import run_js
    return run_js(what)


TRIES = {{
    "js.fetch": lambda: js("fetch")(AT + "fetch"),
    "js.XMLHttpRequest": lambda: js("XMLHttpRequest").new(),
    "js.WebSocket": lambda: js("WebSocket").new(AT.replace("http", "ws") + "ws"),
    "js.EventSource": lambda: js("EventSource").new(AT + "es"),
    "js.Worker": lambda: js("Worker").new(AT + "worker"),
    "js.importScripts": lambda: js("importScripts")(AT + "scripts"),
    "js.eval": lambda: js("eval")("1"),
    "js.Function": lambda: js("Function").new("return 1")(),
    "js.self": lambda: js("self").name,
    "js.globalThis": lambda: js("globalThis").name,
    "js.document.cookie": lambda: js("document").cookie,
    "js.cookieStore": lambda: js("cookieStore"),
    "js.localStorage": lambda: js("localStorage"),
    "js.indexedDB": lambda: js("indexedDB"),
    "js.caches": lambda: js("caches"),
    "js.BroadcastChannel": lambda: js("BroadcastChannel").new("x"),
    "js.navigator": lambda: js("navigator").storage,
    "js.postMessage": lambda: js("postMessage")("forged"),
    "js.Object.constructor": lambda: js("Object").constructor("return fetch")(),
    "pyodide_js.constructor": global_this,
    "run_js eval": lambda: run_code("1"),
    "run_js fetch": lambda: run_code("fetch(" + json.dumps(AT + "runjs") + ")"),
    "loadPackage": lambda: inner("loadPackage")(AT + "package.whl"),
    "pyfetch": lambda: spin(pyfetch()),
    "urllib": url,
    "socket": lambda: pipe("127.0.0.1"),
    "os.system": lambda: __import__("os").popen("id").read(),
    "subprocess": lambda: __import__("subprocess").run(["id"]),
}}


def parse(lines, now):
    got = []
    for name, tried in TRIES.items():
        try:
            got.append([name, "got " + repr(tried())[:80]])
        except BaseException as error:
            got.append([name, "refused " + type(error).__name__])
    return {{"pieces": got}}
"""


def probes(address: str) -> str:
    """`address` ends with a mark that the server's log can be searched for."""
    return PROBES.format(address=address)
