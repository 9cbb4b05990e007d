"""Prepare public training programs for `tools/plant.py`: fetched at a fixed commit, made small, run on made-up data.

    python tools/plant_public.py [--mirror FOLDER] [--into build/public]

Nothing of them is kept in this repository. A program is its own text but for the numbers that say how long it trains;
torchvision, gym, matplotlib and the like are replaced by small modules of that name beside it. A program that does not
run so (it needs other files, a GPU, an old version) is left out by the bench. `--mirror` names a folder with git
directories OWNER+NAME/repo; without it, GitHub is asked.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

STUBS = Path(__file__).parent / "plantlab" / "stubs"
PLACES = {
    "torchvision": "torchvision",
    "gym": "gym",
    **dict.fromkeys(("matplotlib", "mpl_toolkits", "tqdm", "PIL", "imageio", "tensorboard"), "nothing"),
}


@dataclass(frozen=True)
class Repository:
    """Where programs come from: a pattern of paths, at one commit."""

    name: str
    commit: str
    pattern: str

    @property
    def short(self) -> str:
        return self.name.split("/")[1].lower()


REPOSITORIES = (
    Repository(
        "eriklindernoren/PyTorch-GAN",
        "36d3c77e5ff20ebe0aeefd322326a134a279b93e",
        r"implementations/(\w+)/\1\.py",
    ),
    Repository("yunjey/pytorch-tutorial", "0500d3df5a2a8080ccfccbc00aca0eacc21818db", r"tutorials/.*/main\.py"),
    Repository(
        "MorvanZhou/PyTorch-Tutorial", "dbe154a9e56635e51c6b0c2ccea8ae36cfb585a7", r"tutorial-contents/[345].*\.py"
    ),
    Repository("seungeunrho/minimalRL", "c8efed8481e3cd40e9739cfde220a55522555b57", r"[a-z0-9_]+\.py"),
    Repository(
        "pytorch/examples",
        "77f55b912142e11fcfdf5b530231fb9c52f181e8",
        r"(mnist|mnist_rnn|mnist_forward_forward|vae|regression|siamese_network)/main\.py",
    ),
    Repository(
        "aladdinpersson/Machine-Learning-Collection",
        "558557c7989f0b10fee6e8d8f953d7269ae43d4f",
        r"ML/Pytorch/(Basics/pytorch_.*|GANs/1.*|CNN_architectures/.*)\.py",
    ),
    Repository(
        "znxlwm/pytorch-MNIST-CelebA-GAN-DCGAN",
        "c88438c7807326492757623bf9117ee2eb5de8bf",
        r"pytorch_MNIST_.*\.py",
    ),
)

# What makes a program small, in the ways in which people write such numbers.
SMALLER = (
    (r'("--\w*epochs?", (?:"\w+", )?type=int, default=)\d+', r"\g<1>1"),
    (r"('--\w*epochs?', type=int, default=)\d+", r"\g<1>1"),
    (r'("--batch[_-]size", type=int, default=)\d+', r"\g<1>8"),
    (r"('--batch[_-]size', type=int, default=)\d+", r"\g<1>8"),
    (r'("--img_size", type=int, default=)\d+', r"\g<1>16"),
    (r'("--latent_dim", type=int, default=)\d+', r"\g<1>12"),
    (r'("--n_cpu", type=int, default=)\d+', r"\g<1>0"),
    (r"(?m)^(\s*(?:num_epochs|n_epochs|EPOCHS?|train_epoch|NUM_EPOCHS)\s*=\s*)\d+", r"\g<1>1"),
    (r"(?m)^(\s*(?:batch_size|BATCH_SIZE)\s*=\s*)\d+", r"\g<1>8"),
    (r"(?m)^(\s*(?:hidden_size|HIDDEN_SIZE)\s*=\s*)\d+(?=\s*(?:#.*)?$)", r"\g<1>16"),
    (r"num_workers\s*=\s*\d+", "num_workers=0"),
    (r"range\((?:\d{2,}|max_episodes|N_EPISODES)\)", "range(6)"),
    (r"(memory\.size\(\)\s*>\s*)\d+", r"\g<1>24"),
    (r"from torch\.utils\.tensorboard import", "from tensorboard import"),
)


def prepared(text: str) -> str:
    """The program, made small."""
    for pattern, smaller in SMALLER:
        text = re.sub(pattern, smaller, text)
    return text


def git(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True).stdout


def opened(repository: Repository, mirror: Path | None, cache: Path) -> Path:
    """The git directory with its files."""
    if mirror is not None:
        return mirror / repository.name.replace("/", "+") / "repo"
    folder = cache / repository.short
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", f"https://github.com/{repository.name}", str(folder)], check=True)
    return folder


def prepare(repository: Repository, folder: Path, into: Path) -> int:
    commit = repository.commit
    try:
        git(folder, "cat-file", "-e", commit)
    except subprocess.CalledProcessError:
        commit = "HEAD"
    count = 0
    for path in git(folder, "ls-tree", "-r", "--name-only", commit).decode().splitlines():
        if re.fullmatch(repository.pattern, path):
            text = git(folder, "show", f"{commit}:{path}").decode(errors="replace")
            if ".backward(" in text:
                count += 1
                _write(into / _name(repository, path), prepared(text))
    return count


def _name(repository: Repository, path: str) -> str:
    words = [word for word in re.split(r"[^\w]+", path.removesuffix(".py")) if word not in ("main", "implementations")]
    return f"{repository.short}-{'-'.join(dict.fromkeys(words))}".lower()


def _write(place: Path, text: str) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "train.py").write_text(text.replace("\r\n", "\n"), encoding="utf-8")
    for module, stub in PLACES.items():
        if re.search(rf"^\s*(?:import|from) {module}\b", text, re.MULTILINE):
            (place / module).mkdir()
            shutil.copy(STUBS / f"{stub}.txt", place / module / "__init__.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).parent.parent
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--into", type=Path, default=root / "build" / "public")
    options = parser.parse_args()
    total = 0
    for repository in REPOSITORIES:
        folder = opened(repository, options.mirror, root / "build" / "public-sources")
        count = prepare(repository, folder, options.into)
        print(f"{count:4d}  {repository.name}")
        total += count
    print(f"{total:4d}  programs in {options.into}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
