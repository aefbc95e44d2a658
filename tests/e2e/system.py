"""A machine whose wall clock is set and whose disk fails (tests/fake/system.c), for daemons started with its env."""
import os

import pytest

from harness import BIN

FAKE = os.path.join(os.path.dirname(BIN), "tests", "fake_system.so")

NEEDS_FAKE = pytest.mark.skipif(not os.path.exists(FAKE), reason="built without tests: no stand-in for a machine")


class Machine:
    def __init__(self, directory):
        self.clock = directory / "clock"
        self.disk = directory / "disk-fails"

    @property
    def env(self):
        asan = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))
        return {"LD_PRELOAD": FAKE, "ASAN_OPTIONS": asan, "SWEEPD_FAKE_CLOCK": str(self.clock),
                "SWEEPD_FAKE_DISK": str(self.disk)}

    def set_clock(self, ahead_s):
        """The wall clock is off by so much from now on."""
        new = self.clock.with_suffix(".new")
        new.write_text(str(ahead_s))
        os.replace(new, self.clock)

    def break_disk(self):
        self.disk.touch()
