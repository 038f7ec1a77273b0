"""A replay buffer that stores shared frames once: lists of frames, joined and converted to float32 when they are used.

    python examples/python/frames.py [--quick] [--chart frames.svg]

An observation is four frames of 84 by 84 bytes in a row, and its successor has three of them too. Stored as an array
each, observations take four times the memory of their frames. Here a transition keeps references to frames, and
diptych.concatenate makes a batch of float32 of them in one pass, beside np.stack(...).astype(...).
"""

import common
import diptych
import numpy as np

SIDE, STACK, BATCH = 84, 4, 32


class Frames:
    """Observations as lists of frames that they share."""

    def __init__(self, frames):
        self.observations = [frames[i : i + STACK] for i in range(len(frames) - STACK + 1)]

    def bytes(self):
        """Returns the memory of the frames, each counted once, without the lists (88 bytes each)."""
        return sum({id(frame): frame.nbytes for frames in self.observations for frame in frames}.values())

    def frames(self, indices):
        return [frame for i in indices for frame in self.observations[i]]


class Stacks:
    """Observations as arrays of their own, as the usual buffer has them."""

    def __init__(self, frames):
        self.observations = np.stack([np.stack(frames[i : i + STACK]) for i in range(len(frames) - STACK + 1)])

    def bytes(self):
        return self.observations.nbytes


def case(dtype, shared, stacks, torch, indices):
    shape = (len(indices), STACK, SIDE, SIDE)
    out = np.empty(shape, dtype)
    rows = out.reshape(-1, SIDE)

    def join():
        diptych.concatenate(shared.frames(indices), out=rows, dtype=dtype)
        return out

    calls = {
        "np.stack().astype()": lambda: np.stack(shared.frames(indices)).astype(dtype).reshape(shape),
        "np.concatenate(out=)": lambda: (np.concatenate(shared.frames(indices), out=rows), out)[1],
        "stored as arrays": lambda: stacks.observations[indices].astype(dtype),
    }
    if torch:
        tensors = {id(f): torch.from_numpy(f) for f in shared.frames(range(len(shared.observations)))}
        lists = [[tensors[id(frame)] for frame in frames] for frames in shared.observations]
        kind = getattr(torch, dtype)
        calls["torch.stack().to()"] = lambda: (
            torch.stack([t for i in indices for t in lists[i]]).to(kind).reshape(shape)
        )
    calls["diptych.concatenate(out=)"] = join
    return common.Case(dtype, "", calls, tolerance=0)


def main():
    options = common.arguments(__doc__)
    torch = common.optional("torch")
    common.machine(np, torch, diptych)
    random = np.random.default_rng(1)
    count = 500 if options.quick else 5000
    frames = list(random.integers(0, 256, (count, SIDE, SIDE), np.uint8))
    shared, stacks = Frames(frames), Stacks(frames)
    one, other = shared.bytes() / 1e6, stacks.bytes() / 1e6
    print(f"{count - STACK + 1} observations: {one:.1f} MB as shared frames, {other:.1f} MB as arrays of their own")
    indices = random.integers(0, len(shared.observations), BATCH)
    done = common.measure((case(dtype, shared, stacks, torch, indices) for dtype in ("float32", "float64")), options, 2)
    common.table(done)
    common.chart(done, options, f"A batch of {BATCH} observations of {STACK} frames, us")


if __name__ == "__main__":
    main()
