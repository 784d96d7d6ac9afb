"""How much memory there is."""

from __future__ import annotations


def free_memory() -> float:
    """Bytes that can be allocated without swapping; infinity where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:  # MemFree would leave out the page cache, which gives way
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    return float("inf")
