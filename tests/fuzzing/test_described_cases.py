"""Whatever a program asks, with whatever token: no fault of the server, no answer that the document does not describe.

500 requests here; ``make proof-api`` asks 20,000 (PROOF_REQUESTS), others with another PROOF_SEED.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.fuzzing.described_cases import Fuzzing
from tests.fuzzing.fuzzed_server import fuzzed_site

N_REQUESTS = int(os.environ.get("PROOF_REQUESTS", "500"))
SHARE_OF_CHAINS = 0.3


def test_no_request_makes_the_server_fail_or_leave_its_document(tmp_path: Path) -> None:
    with fuzzed_site(tmp_path) as site:
        fuzzing = Fuzzing(site, int(os.environ.get("PROOF_SEED", "1")))
        fuzzing.chain(int(N_REQUESTS * SHARE_OF_CHAINS))
        fuzzing.ask(max(1, N_REQUESTS - fuzzing.heard.n_cases))
        heard, after = fuzzing.heard, site.counted()
        print(f"\n{heard} of {len(fuzzing.operations)} operations")
        assert not heard.faults, "\n\n".join([*heard.faults.values(), site.said()])
    assert heard.n_cases >= N_REQUESTS
    assert len(heard.answered) > len(fuzzing.operations) / 4  # not refused alone
    assert heard.statuses[500] == 0
    assert after["audit"] == "None"
