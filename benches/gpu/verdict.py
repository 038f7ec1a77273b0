"""Counts calls and wrong results."""
import json
import sys

from diptych import Failure, library


class Verdict:
    """Counts calls and wrong results. Prints the first wrong ones as they are found."""

    SHOWN = 50

    def __init__(self):
        self.calls, self.wrong = 0, 0

    def check(self, label, is_right):
        """Checks whether one call has the bits of the CPU."""
        self.compare(label, lambda: [] if is_right() else ["other bits than the CPU's"])

    def compare(self, label, differences):
        """Checks one call; `differences` lists what is wrong. Ends the script if no further call can succeed."""
        self.calls += 1
        try:
            for text in differences():
                self.note(f"{label}: {text}")
        except Failure as failure:
            self.note(f"{label}: {failure}")
            # Some errors make the context unusable.
            if library.dpt_cuda_synchronize(None) != 0:
                print(f"stopped, every later call would fail: {library.dpt_last_error().decode()}", flush=True)
                self.finish(stopped=True)

    def note(self, text):
        self.wrong += 1
        if self.wrong <= self.SHOWN:
            print(text, flush=True)

    def say(self, **more):
        print(json.dumps({"calls": self.calls, "wrong": self.wrong, **more}), flush=True)

    def finish(self, **more):
        self.say(**more)
        sys.exit(1 if self.wrong or not self.calls else 0)
