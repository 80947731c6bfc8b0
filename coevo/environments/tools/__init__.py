"""Tools that environments hand to agents, held by a sandbox.

    environment (trusted) ── pipe ── bwrap ── supervisor (process 1) ── fork ── bash ── whatever the command starts

`shell` is the trusted side: one `Shell` for each episode; `contained` holds the process that it talks to, and `actions`
reads from an agent's answer what it wants run. `confinement` says what is seen inside (an allow-list of mounts, a
cleared environment) and `calls` which system calls fail. `supervisor` is the process inside that starts one command at
a time, reads what it prints, and kills all of its processes when it ends or a limit is reached.

What it protects against, on Linux:

* reading anything but the system's programs and libraries, the interpreter, an allow-list of packages and the files
  that the environment shows: no home, keys, data, runs, nor the environment variables of coevo's process;
* the network, also by sockets that no network namespace holds (vsock, netlink);
* writing anywhere but into private memory-backed folders of bounded size, which are gone with the episode;
* commands that do not end, processes left behind, fork bombs, memory, output without end: all are stopped, from inside,
  with every process of the command; and should the supervisor itself not answer, the whole sandbox is ended.

What it does not protect against: a bug of the kernel, of bubblewrap or of the processor; use of all cores for as long
as a command may run; a file under /usr that everybody may read and nobody should.
"""
