"""A program that lists and exports without a pause beside the readers of a study, until its standard input ends.

Takes its orders as JSON on standard input and prints how many requests were answered, and which statuses were no 200.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
from collections import Counter
from typing import Any


def ask(orders: dict[str, Any], stop: threading.Event) -> Counter[int]:
    study, bank = orders["study"], orders["bank"]
    addresses = [
        *(f"banks/{bank}/questions/?limit=1000", f"studies/{study}/readers/?limit=1000", "studies/"),
        *(f"studies/{study}/tables/{table}/csv/" for table in ("orders", "readers", "sessions")),
    ]
    statuses: Counter[int] = Counter()
    while not stop.is_set():
        for address in addresses:
            line = http.client.HTTPConnection("127.0.0.1", orders["port"], timeout=120)
            line.request("GET", f"/api/v1/{address}", headers={"Authorization": f"Bearer {orders['token']}"})
            answer = line.getresponse()
            answer.read()
            statuses[answer.status] += 1
            line.close()
            if stop.is_set():
                break
    return statuses


def main() -> None:
    orders = json.loads(sys.stdin.readline())
    stop = threading.Event()
    found: list[Counter[int]] = []
    thread = threading.Thread(target=lambda: found.append(ask(orders, stop)))
    thread.start()
    sys.stdin.read()
    stop.set()
    thread.join()
    print(json.dumps({"n": found[0][200], "refused": {str(one): n for one, n in found[0].items() if one != 200}}))


if __name__ == "__main__":
    main()
