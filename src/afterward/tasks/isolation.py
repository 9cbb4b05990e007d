"""A private view of the machine for a process that is only tried: what it writes is gone when it ends.

On Linux, by namespaces: every writable file system is covered by an overlay whose changes lie in memory, there is no
network but loopback, and no process outlives the first one. Root has the right to make them; others need a user
namespace, which a system may refuse. All of it is released by the kernel, however the process ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import shutil
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from afterward.tasks.private_files import show_own_files
from afterward.tasks.system_calls import checked, libc

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NETWORK = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_ALL = _NEW_MOUNTS | _NEW_IPC | _NEW_PIDS | _NEW_NETWORK
_PDEATHSIG = 1
_CAPSET = {"x86_64": 126, "aarch64": 91, "riscv64": 91, "ppc64le": 184, "s390x": 185}
_CAPABILITY_VERSION = 0x20080522
_YES = "yes"


def call_in_private_view(work: Callable[[], None], refused: Callable[[OSError], None]) -> NoReturn:
    """Run `work` in a view of its own, and leave this process when it is over. Needs a process of one thread.

    Where no such view can be made, `refused` is told why, and nothing is run.
    """
    try:
        die_with_parent()
        folder = os.getcwd()
        enter_namespaces()
        first = os.fork()
        if first:
            os._exit(_outcome(first))
        die_with_parent()
        show_own_files(folder)
        loopback_up()
        program = os.fork()
        if program:
            os._exit(_outcome(program))  # the first process of a namespace takes all others with it
        if os.geteuid():
            drop_capabilities()
        rename_by_copying()
    except OSError as error:
        refused(error)
        os._exit(1)
    try:
        work()
    finally:
        os._exit(0)


def why_not() -> str:
    """Why this system gives no private view; nothing: it does. Found out by trying, in the present folder."""
    if not sys.platform.startswith("linux"):
        return "only Linux has private mounts"
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        call_in_private_view(lambda: _try(writing), lambda error: _tell(writing, error))
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        answer = answers.read().decode()
    os.waitpid(pid, 0)
    return "" if answer == _YES else answer or "private mounts do not work here"


def _try(answer: int) -> None:
    """A folder whose owner is not known in the view cannot be written to, and then the view is of no use."""
    path = Path(os.getcwd(), f".afterward-probe-{os.getpid()}")
    try:
        if os.access(path.parent, os.W_OK):
            path.write_bytes(b"")
            path.unlink()
    except OSError as error:
        _tell(answer, error)
    else:
        os.write(answer, _YES.encode())


def _tell(answer: int, error: OSError) -> None:
    os.write(answer, os.strerror(error.errno or errno.EPERM).lower().encode())


def _outcome(pid: int) -> int:
    """Wait for this process, and for whatever is left to us meanwhile."""
    while True:
        try:
            ended, status = os.waitpid(-1, 0)
        except InterruptedError:
            continue
        except ChildProcessError:
            return 1
        if ended == pid:
            return os.waitstatus_to_exitcode(status) & 0xFF


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends, however it ends."""
    if sys.platform.startswith("linux"):
        parent = os.getppid()
        libc().prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before we asked
            os._exit(1)


def let_live() -> None:
    """Take that back: this process notices by itself, and has something to clean up."""
    if sys.platform.startswith("linux"):
        libc().prctl(_PDEATHSIG, 0, 0, 0, 0)


# Namespaces


def enter_namespaces() -> None:
    """Leave the mounts, the network and the processes of this machine; as root directly, else in a user namespace."""
    if os.geteuid() == 0 and libc().unshare(_ALL) == 0:
        return
    user, group = os.geteuid(), os.getegid()
    checked(libc().unshare(_ALL | _NEW_USER), "unshare")
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def loopback_up() -> None:
    """A new network has no device that works; programs of several processes talk over this one."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        request = struct.pack("16sh14x", b"lo", 0x1 | 0x40)  # up, running
        fcntl.ioctl(channel, 0x8914, request)  # SIOCSIFFLAGS


def drop_capabilities() -> None:
    """In its own user namespace a process may do everything; the program is to have the rights of its user."""
    number = _CAPSET.get(os.uname().machine)
    if number is not None:
        header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
        libc().syscall(number, header, bytes(24))


def rename_by_copying() -> None:
    """An overlay without root's rights does not rename a folder that was there before; a copy does the same."""
    for name in ("rename", "replace"):
        setattr(os, name, _renaming(getattr(os, name)))


def _renaming(plain: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(plain)
    def rename(src: Any, dst: Any, **folders: Any) -> None:
        try:
            plain(src, dst, **folders)
        except OSError as error:
            if error.errno != errno.EXDEV or folders or not os.path.isdir(src) or os.path.lexists(dst):
                raise
            shutil.copytree(src, dst, symlinks=True)
            shutil.rmtree(src)

    return rename
