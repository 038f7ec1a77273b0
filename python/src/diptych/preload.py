"""Run a program whose NumPy takes its matrix products from Diptych.

    python -m diptych.preload script.py [arguments]
    python -m diptych.preload -m module [arguments]
    python -m diptych.preload -c code [arguments]
    python -m diptych.preload [options of Python] script.py [arguments]

Nothing in the program changes: NumPy and SciPy find the routines of BLAS that Diptych has in its module
first (`LD_PRELOAD`), and all others in their own library. The programs that it starts inherit this. Without
arguments it starts an interactive Python.

The routines are gemm, gemv, ger, syrk, dot, axpy, scal, nrm2, asum, iamax, copy and swap, for float and double.

Environment:

    DIPTYCH_THREADS       how many threads may work on a product; 1 when it is not set
    DIPTYCH_CPU_LEVEL     portable, avx2, avx512 or neon; the best of the machine when it is not set
    DIPTYCH_BLAS_LIBRARY  the path of libdiptych_blas.so, to load it instead of the package's module
"""

import os
import sys

__all__ = ["environment", "library", "main"]


def library() -> str:
    """Return the path of the library that is preloaded.

    Raises FileNotFoundError where `DIPTYCH_BLAS_LIBRARY` names one that does not exist.

    >>> from diptych import preload
    >>> preload.library()  # doctest: +SKIP
    '/usr/lib/python3/site-packages/diptych/_native.abi3.so'
    """
    path = os.environ.get("DIPTYCH_BLAS_LIBRARY")
    if not path:
        from diptych import library_path

        path = library_path()
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no {path}")
    return os.path.abspath(path)


def environment(environ=None) -> dict:
    """Return a copy of an environment, by default this process's, in which programs load Diptych's library first.

    What LD_PRELOAD names already stays, after it.

    >>> import subprocess, sys
    >>> from diptych import preload
    >>> command = [sys.executable, "train.py"]
    >>> subprocess.run(command, env=preload.environment())  # doctest: +SKIP
    """
    environ = dict(os.environ if environ is None else environ)
    path = library()
    if any(c in path for c in " :"):
        raise ValueError(f"the dynamic loader cannot preload {path!r}: its path has a blank or a colon")
    others = environ.get("LD_PRELOAD", "").replace(":", " ").split()
    environ["LD_PRELOAD"] = ":".join([path, *(other for other in others if other != path)])
    return environ


def main(arguments=None) -> None:
    """Replace this process by Python with the arguments, in `environment()`."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    if not sys.platform.startswith("linux"):
        sys.exit("diptych.preload: libraries can be preloaded on Linux only")
    try:
        environ = environment()
    except (FileNotFoundError, ValueError) as error:
        sys.exit(f"diptych.preload: {error}")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *arguments], environ)


if __name__ == "__main__":
    main()
