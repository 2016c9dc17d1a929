"""Compiled programs are kept in a private folder, only while this package compiles, and hold no record."""

import os
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from dpmcmc import programs
from dpmcmc.programs import folder, kept_programs, who_else_can_write

SECRET = 0.7310585786300049  # of one record: in float64 and float32 no bytes of a program by chance


@pytest.fixture
def private(tmp_path):
    """A private folder, where no other user can write to one above it."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    if who_else_can_write(home):
        pytest.skip("the folder for temporary files is not private")
    return home


@pytest.fixture
def no_cache():
    """JAX as a user has it who configured no cache; the tests' own is put back."""
    names = ("jax_compilation_cache_dir", *programs._SETTINGS)
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.mark.parametrize("setting", programs.OFF)
def test_can_be_turned_off(setting):
    assert folder(setting, "") is None


def test_folder_is_made_private_whatever_the_umask(private):
    before = os.umask(0)
    try:
        made = folder("", str(private / "cache"))
    finally:
        os.umask(before)
    assert made == private / "cache" / "dpmcmc" / "programs"
    for each in (made, made.parent, private / "cache"):
        assert stat.S_IMODE(each.stat().st_mode) == 0o700


def test_relative_cache_home_is_ignored(private, monkeypatch):
    monkeypatch.setenv("HOME", str(private))
    assert folder("", "relative/cache") == private / ".cache" / "dpmcmc" / "programs"


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o750, 0o704])
def test_folder_that_others_can_use_is_refused(private, mode):
    shared = private / f"shared-{mode:o}" / programs.OWN
    shared.mkdir(parents=True)
    shared.chmod(mode)
    with pytest.warns(UserWarning, match=r"not kept.*Delete "):
        assert folder(str(shared.parent), "") is None


def test_what_others_may_have_put_there_is_refused(private):
    """A folder that was open to others and is private now may hold programs of theirs."""
    made = folder(str(private), "")
    planted = made / "jit_run-0-cache"
    planted.write_bytes(b"x")
    assert who_else_can_write(made) == ""
    planted.chmod(0o666)
    assert "another user's work" in who_else_can_write(made)
    planted.unlink()
    planted.symlink_to(private)
    assert "another user's work" in who_else_can_write(made)


def test_nothing_else_is_deleted_from_a_folder_that_a_user_names(private):
    (private / "records.parquet").write_bytes(b"x" * 100)
    made = folder(str(private), "")
    assert made == private / programs.OWN
    (made / "notes.txt").write_bytes(b"x" * 100)
    programs._prune(made, most=1)
    assert (private / "records.parquet").exists()
    assert (made / "notes.txt").exists()


def test_folder_below_one_that_others_can_write_to_is_refused(private):
    above = private / "above"
    (above / "own").mkdir(parents=True, mode=0o700)
    above.chmod(0o777)
    assert "above" in who_else_can_write(above / "own")
    above.chmod(0o1777)  # as /tmp: others can neither remove nor rename what is mine
    (above / "own").chmod(0o700)
    assert who_else_can_write(above / "own") == ""


def test_folder_of_another_user_is_refused(private, monkeypatch):
    owner = private.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert "belongs to another user" in who_else_can_write(private)


def test_link_is_judged_by_where_it_leads(private):
    target = private / "target"
    target.mkdir()
    target.chmod(0o777)
    (private / "link").symlink_to(target)
    with pytest.warns(UserWarning, match="other users can write"):
        assert folder(str(private / "link"), "") is None


def test_folder_that_cannot_be_made_is_done_without(private):
    (private / "file").write_text("")
    assert folder(str(private / "file" / "below"), "") is None


def test_programs_are_kept_within_and_not_outside(private, no_cache, monkeypatch):
    monkeypatch.setenv("DPMCMC_CACHE", str(private))

    def written():
        return {each.name for each in private.glob(f"{programs.OWN}/*")}

    x = np.arange(3.0)
    jax.jit(lambda x: x * 3 + 1)(x)
    assert not written()
    with kept_programs():
        with kept_programs():
            jax.jit(lambda x: x * 5 + 1)(x)
        jax.jit(lambda x: x * 6 + 1)(x)
    kept = written()
    assert len(kept) >= 2
    jax.jit(lambda x: x * 7 + 1)(x)
    assert written() == kept
    assert jax.config.jax_compilation_cache_dir is None
    assert jax.config.jax_persistent_cache_min_compile_time_secs != 0


def test_cache_that_the_user_configured_stays(private, no_cache, monkeypatch):
    monkeypatch.setenv("DPMCMC_CACHE", str(private))
    jax.config.update("jax_compilation_cache_dir", str(private / "own"))
    with kept_programs():
        assert jax.config.jax_compilation_cache_dir == str(private / "own")


def test_oldest_programs_go_first(private):
    for age, letter in enumerate("abcd"):
        name = f"{letter}-cache"
        (private / name).write_bytes(b"x" * 10)
        os.utime(private / name, (age, age))
    programs._prune(private, most=40)
    assert len(list(private.iterdir())) == 4
    programs._prune(private, most=39)
    assert {each.name for each in private.iterdir()} == {"d-cache"}


RUNS = {
    "scores": """
model = dp.models.LogisticRegression({"x": (-1.0, 1.0)})
data = model.encode({"x": x, "y": rng.random(300) < 0.5}, outcome="y")
data["x"] = np.array(data["x"])
data["x"][7] = SECRET
dp.sample(model, data, 1.0, 1e-6, progress=False)
""",
    "likelihood": """
import jax
def simulate(key, theta, n): return theta + jax.random.normal(key, (n,))
model = dp.Model(lambda t: -t**2 / 2, lambda t, x: -(x - t)**2 / 2, 0.0, simulate=simulate,
                 sample_prior=lambda key: jax.random.normal(key))
dp.sample(model, x, 1.0, 1e-6, method=dp.LikelihoodRelease(), progress=False)
""",
    "chain": """
model = dp.Model(lambda t: -t**2 / 2, lambda t, x: -(x - t)**2 / 2, 0.0)
dp.sample(model, x, 1.0, 1e-6, method=dp.dp_barker(step=0.1, clip=0.01), progress=False)
""",
}
BEFORE = """
import numpy as np, dpmcmc as dp
SECRET = {secret!r}
rng = np.random.default_rng(0)
x = rng.random(300)
x[7] = SECRET
"""
CONTROL = """
import jax
from dpmcmc.programs import kept_programs
with kept_programs(), jax.enable_x64(True):
    jax.jit(lambda y: y @ np.r_[x, x])(np.ones(600))
"""


def contents(where: Path) -> bytes:
    """Of all programs, unpacked."""
    return b"".join(_unpacked(each.read_bytes()) for each in where.iterdir())


def _unpacked(content: bytes) -> bytes:
    try:
        return compilation_cache.decompress_executable(content)
    except AttributeError:  # a JAX that does not export it
        return zlib.decompress(content)


@pytest.mark.parametrize(
    "run", ["scores", pytest.param("likelihood", marks=pytest.mark.slow), pytest.param("chain", marks=pytest.mark.slow)]
)
def test_no_record_is_in_a_kept_program(run, private):
    """The control shows that a record would be found if a program had it as a constant."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JAX_COMPILATION")}
    environment["DPMCMC_CACHE"] = str(private)
    for script, expected in ((RUNS[run], False), (CONTROL, True)):
        subprocess.run([sys.executable, "-c", BEFORE.format(secret=SECRET) + script], env=environment, check=True)
        found = contents(private / programs.OWN)
        assert len(found) > 1000
        assert (np.float64(SECRET).tobytes() in found or np.float32(SECRET).tobytes() in found) == expected
