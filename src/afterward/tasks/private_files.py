"""A tree of files that looks like the machine's own; what is written there is kept in memory, by overlays."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from afterward.tasks.system_calls import NotAllowed, checked, libc, mount_at, mounted

_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
_NOSUID, _NODEV, _NOEXEC = 0x2, 0x4, 0x8
_DETACH = 0x2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

# File systems of the kernel: shown as they are. What is written there is no file.
_OF_THE_KERNEL = {
    "sysfs", "cgroup", "cgroup2", "devtmpfs", "devpts", "mqueue", "debugfs", "tracefs", "securityfs", "pstore", "bpf",
    "configfs", "fusectl", "hugetlbfs", "binfmt_misc", "efivarfs", "autofs", "rpc_pipefs", "nsfs",
}  # fmt: skip


@dataclass(frozen=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    path: str
    kind: str
    options: tuple[str, ...]

    @property
    def writable(self) -> bool:
        return "ro" not in self.options


def show_own_files(folder: str) -> None:
    """Cover everything that is writable, and make the covered tree the root of this process."""
    call = _PIVOT_ROOT.get(os.uname().machine)
    if call is None:
        raise NotAllowed(errno.ENOSYS, "pivot_root")
    mount_at("none", "/", None, _RECURSIVE | _PRIVATE)
    view = _View(read_mounts())
    view.show("/")
    if os.geteuid():
        places = (folder, os.path.expanduser("~"), tempfile.gettempdir())
        for place in sorted(map(_outermost_of_ours, places), key=len):
            view.show_owned(place)
    os.chdir(view.root)
    checked(libc().syscall(call, b".", b"."), "pivot_root")
    checked(libc().umount2(b".", _DETACH), "umount2")
    os.chdir(folder)


def read_mounts() -> dict[str, Mount]:
    """What is mounted where; the last counts where one lies over another."""
    found: dict[str, Mount] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        path = fields[4].encode().decode("unicode_escape")
        options = (*fields[5].split(","), *after.split()[2].split(","))
        found[path] = Mount(path, after.split()[0], options)
    return found


class _View:
    """The new tree, while it is put together in a folder of this one."""

    def __init__(self, mounts: dict[str, Mount]) -> None:
        self.mounts = mounts
        self._overlays: list[str] = []
        self._scratch = self._place_for_scratch()
        self._covered = os.open(self._scratch, os.O_PATH)  # what the scratch will hide
        mount_at("tmpfs", self._scratch, "tmpfs", 0, "mode=755")
        self.root = os.path.join(self._scratch, "root")
        os.mkdir(self.root)
        mount_at(self.root, self.root, None, _BIND)  # only a mount can become the root

    def show(self, path: str) -> None:
        """Show a folder and what is mounted inside: an overlay where it is writable, else as it is."""
        mount = self._mount_of(path)
        inside = self._mounts_inside(path)
        if mount.kind == "proc":
            self._show_processes(path)
        elif path == "/dev/shm":
            mount_at("tmpfs", self._at(path), "tmpfs", _NOSUID | _NODEV, "mode=1777")
        elif mount.kind in _OF_THE_KERNEL:
            self._bind(mount, path, _RECURSIVE)
            self._show_all(each for each in inside if each == "/dev/shm")
        elif self._cover(mount, path):
            self._show_all(inside)
        elif inside:
            self._show_one_by_one(path)
        else:
            self._bind(mount, path, _RECURSIVE)

    def show_owned(self, path: str) -> None:
        """An overlay of its own for a folder of the user's inside of one that is not: only root can copy that one."""
        if path not in self._overlays and os.path.isdir(path):
            with contextlib.suppress(OSError):
                self._overlay(path)

    def _show_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            if os.path.lexists(self._at(path)):  # or it is hidden by another mount
                self.show(path)

    def _cover(self, mount: Mount, path: str) -> bool:
        """Could it be shown? In a user namespace nothing may be taken apart from what is mounted inside of it."""
        try:
            if mount.writable and os.path.isdir(path):
                self._overlay(path)
            else:
                self._bind(mount, path)
        except OSError:
            return False
        return True

    def _show_one_by_one(self, path: str) -> None:
        """What is mounted inside is in the way: show what is in this folder piece by piece."""
        for name in sorted(os.listdir(path)):
            inner = os.path.join(path, name)
            target = self._at(inner)
            with contextlib.suppress(FileExistsError, PermissionError):
                if os.path.islink(inner):
                    os.symlink(os.readlink(inner), target)
                elif os.path.isdir(inner):
                    os.mkdir(target)
                    self.show(inner)
                else:
                    os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
                    self._bind(self._mount_of(inner), inner)

    def _overlay(self, path: str) -> None:
        self._overlays.append(path)
        layer = os.path.join(self._scratch, str(len(self._overlays)))
        upper, work = os.path.join(layer, "upper"), os.path.join(layer, "work")
        os.makedirs(upper)
        os.mkdir(work)
        lower = f"/proc/self/fd/{self._covered}" if path == self._scratch else path
        state = os.stat(lower)
        with contextlib.suppress(OSError):
            os.chown(upper, state.st_uid, state.st_gid)
        taken = 0 if os.access(lower, os.W_OK) else 0o222  # the upper folder's owner may be another: us
        os.chmod(upper, state.st_mode & 0o7777 & ~taken)
        layers = (("lowerdir", lower), ("upperdir", upper), ("workdir", work))
        options = ",".join(f"{name}={_escaped(place)}" for name, place in layers)
        # Only root may have folders renamed. Without its rights, marks are kept under another name; since Linux 5.11.
        if not mounted("overlay", self._at(path), "overlay", f"{options},redirect_dir=on"):
            mount_at("overlay", self._at(path), "overlay", 0, f"{options},userxattr")

    def _bind(self, mount: Mount, path: str, flags: int = 0) -> None:
        """Show it as it is, read-only. Device files work on a read-only mount, too."""
        mount_at(path, self._at(path), None, _BIND | flags)
        kept = (("nosuid", _NOSUID), ("nodev", _NODEV), ("noexec", _NOEXEC))
        locked = sum(flag for name, flag in kept if name in mount.options)
        with contextlib.suppress(OSError):
            mount_at(path, self._at(path), None, _BIND | _REMOUNT | _READ_ONLY | locked)

    def _show_processes(self, path: str) -> None:
        try:
            mount_at("proc", self._at(path), "proc", _NOSUID | _NODEV | _NOEXEC)
        except OSError:  # some containers hide parts of theirs, and then no new one may be mounted
            mount_at(path, self._at(path), None, _BIND | _RECURSIVE)

    def _at(self, path: str) -> str:
        return self.root if path == "/" else self.root + path

    def _mount_of(self, path: str) -> Mount:
        """The mount that this path lies on."""
        while path not in self.mounts:
            path = os.path.dirname(path)
        return self.mounts[path]

    def _mounts_inside(self, path: str) -> list[str]:
        """The outermost of them."""
        below = path.rstrip("/") + "/"
        found: list[str] = []
        for each in sorted(self.mounts, key=lambda each: each.count("/")):
            if each != path and each.startswith(below) and not any(each.startswith(f"{outer}/") for outer in found):
                found.append(each)
        return found

    def _place_for_scratch(self) -> str:
        """A folder that may be covered: nothing is mounted on it or inside."""
        for name in sorted(os.listdir("/")):
            path = f"/{name}"
            free = path not in self.mounts and not self._mounts_inside(path)
            if free and os.path.isdir(path) and not os.path.islink(path):
                return path
        raise NotAllowed(errno.ENOENT, "no folder to mount on")


def _outermost_of_ours(folder: str) -> str:
    """The folder itself, or the outermost around it that belongs to the user, as all between them do."""
    path = os.path.realpath(folder)
    while path != "/":
        state = os.stat(os.path.dirname(path))
        if (state.st_uid, state.st_gid) != (os.geteuid(), os.getegid()):
            break
        path = os.path.dirname(path)
    return path


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")
