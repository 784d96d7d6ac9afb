"""The chart library out of vl-convert, which takes seconds to make and holds the interpreter.

So it is made in a process of its own while the table is studied; where no process can be started it
is made here, when it is needed.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

SNIPPET = "window.vegaEmbed = vegaEmbed;"
MAKE = (
    "import sys, vl_convert; "
    f"sys.stdout.buffer.write(vl_convert.javascript_bundle({SNIPPET!r}).encode())"
)


@cache
def begin() -> Future[str]:
    """Begin to make it, once in a process; the future is empty where that cannot be."""
    waiter = ThreadPoolExecutor(1)
    made = waiter.submit(_made_beside)
    waiter.shutdown(wait=False)
    return made


def _made_beside() -> str:
    try:
        # -P: nothing of the folder it is started in is imported.
        command = [sys.executable or "python3", "-P", "-c", MAKE]
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.decode()


@cache
def runtime() -> str:
    """The script, in a scope of its own, with nothing in it that HTML could take for its own."""
    bundle = begin().result()
    if "vegaEmbed" not in bundle:
        import vl_convert

        bundle = vl_convert.javascript_bundle(SNIPPET)
    safe = bundle.strip().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"(()=>{{{safe}\n}})();"
