"""Containment of untrusted heuristics: bubblewrap launcher, mounts, limits, seccomp.

    judge (trusted) ── pipe ── bwrap ── server (warm) ── fork ── supervisor ── fork ── candidate

`launcher` starts one sandbox and talks to it. Inside, `server` is process 1 of its own namespace and keeps numpy, the
problem's code and one set of instances warm. Per candidate it forks a `supervisor`, which forks a process, `confine`s
it ahead of time, hands it the source (the server itself never reads one, so that nothing of a candidate can reach the
next through its memory), and answers with how it ended and the raw bytes it wrote. `results` decodes those bytes,
in the judge, as hostile input.

What it protects against, on Linux:

* reading anything but an allow-list of mounts (interpreter, libraries, the parts of coevo that problems import, the
  problem's Python files): no home, runs, data, optima, keys, environment variables, descriptors, /proc or /sys;
* writing anything at all: every mount is read-only, /tmp is private and empty, and no file can be opened for writing,
  created, renamed, removed or relabelled;
* network, new processes and threads, signals, tracing, shared memory, other processes' limits and priorities: a seccomp
  allow-list leaves reading files, own memory, clocks, and writing the result;
* endless work, memory and output: CPU time measured from outside, a wall guard, an address-space limit, a cap
  on the result; whatever exceeds them is killed with SIGKILL and reaped.

What it does not protect against:

* a bug of the kernel, of bubblewrap or of the processor (side channels, timing);
* a candidate that forges its own result, or walks its caller's frames: it runs in the process that reports for it. All
  it can do is to claim solutions, and those are checked and priced on data that never came near it;
* a candidate that recognises an instance and has its answer written down in its source;
* code of the problem folder, of numpy or of an installed plug-in: those are trusted;
* one core used for as long as the limits allow.

With `unsafe=True` there is no bubblewrap: limits and seccomp still hold (nothing can be written, started or
contacted), but a candidate reads every file that the user can read.
"""
