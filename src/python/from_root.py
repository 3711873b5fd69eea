"""Builds the package from the root of the project, whose pyproject.toml describes it."""

import os
from pathlib import Path

os.chdir(Path(__file__).resolve().parents[2])

from scikit_build_core.build import *  # noqa: E402, F403 -- the hooks look at where they are called
