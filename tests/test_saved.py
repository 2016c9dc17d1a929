"""Saved releases: what was released, or refused. Nobody's edit passes for a guarantee."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dpmcmc as dp
from dpmcmc.chain.quality import ChainQuality
from dpmcmc.charge import Purse, of_draws, of_releases
from dpmcmc.files import disk, sealed, signatures
from dpmcmc.privacy import BarkerBit, Bound, Gaussian, GaussianFilter, NonPrivate, Repeat, SubsampledGaussian
from dpmcmc.receipts import Receipt
from tests.files import mutations

BUDGET = dp.Budget(1.0, 1e-6)


def charged(event=None, budget=BUDGET, earlier=()):
    """A guarantee and the receipts for it: of an event, or of Gaussian releases under a filter."""
    purse = Purse(budget, of_releases(8) if event is None else of_draws(80), tuple(earlier))
    rule = GaussianFilter.of_mu(purse.mu, 8) if event is None else None
    guarantee, receipt = purse.charge("test", event, rule)
    return {"guarantee": guarantee, "receipts": (*earlier, receipt)}


def made(**parts):
    rng = np.random.default_rng(0)
    given = charged() if "receipts" not in parts else {}
    return dp.Release(
        **{
            "draws": {"theta": rng.normal(size=(2, 20, 3)), "k": rng.integers(9, size=(2, 20))},
            "quality": ChainQuality(30.0, 1.01, 100, 1.0),
            "method": "Test",
            "settings": {"n": 100, "chains": 2, "steps": 40, "warmup": 5, "temperature": 1.0, "model": "Test"},
            "sample_stats": {"accepted": rng.random((2, 20)) < 0.5},
            "notes": ("a note",),
            **given,
            **parts,
        }
    )


BITS = charged(Repeat(BarkerBit(0.1), 10))
AFTER = charged(earlier=charged(Repeat(BarkerBit(0.01), 20), dp.Budget(0.5, 1e-7))["receipts"])


def same(loaded, release):
    for room in ("draws", "sample_stats"):
        assert getattr(loaded, room).keys() == getattr(release, room).keys()
        for name, values in getattr(release, room).items():
            found = getattr(loaded, room)[name]
            assert (found.dtype, found.shape, found.tobytes()) == (values.dtype, values.shape, values.tobytes())
    for part in ("guarantee", "receipts", "quality", "method", "settings", "notes", "no_guarantee", "sums"):
        assert getattr(loaded, part) == getattr(release, part)


def edited(path, edit):
    """The file, its JSON changed by ``edit`` and its digest computed again."""
    found = sealed.unpack("release", path.read_bytes(), path)
    edit(found.about)
    path.write_bytes(sealed.pack("release", found.arrays, found.about))
    return path


@pytest.mark.parametrize("parts", [{}, BITS, AFTER, {"guarantee": None, "no_guarantee": "made with seed="}])
def test_what_is_saved_is_loaded(parts, tmp_path):
    release = made(**({**charged(), **parts}))
    same(dp.Release.load(release.save(tmp_path / "a.npz")), release)


NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=12)
TYPES = st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_])


@settings(max_examples=25)
@given(st.data(), st.integers(1, 3), st.integers(0, 5), st.lists(st.text(), max_size=3), st.booleans())
def test_any_release_survives_saving(tmp_path_factory, data, chains, count, notes, private):
    shapes = hnp.array_shapes(min_dims=0, max_dims=2, max_side=3)
    arrays = TYPES.flatmap(lambda kind: shapes.flatmap(lambda shape: hnp.arrays(kind, (chains, count, *shape))))
    release = made(
        draws=data.draw(st.dictionaries(NAMES, arrays, min_size=1, max_size=3)),
        sample_stats=data.draw(st.dictionaries(NAMES, arrays, max_size=2)),
        settings={"chains": chains, "draws": count, "model": data.draw(st.text()), "x": data.draw(st.floats(0, 1))},
        notes=tuple(notes),
        **charged() if private else {"receipts": (), "guarantee": None, "no_guarantee": "why"},
    )
    same(dp.Release.load(release.save(tmp_path_factory.mktemp("r") / "a.npz")), release)


@pytest.mark.parametrize("parts", [charged(), BITS, AFTER], ids=["filter", "event", "after"])
@pytest.mark.parametrize("factor", [0.1, 0.999, 1 - 1e-9, 1.01])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_an_edited_guarantee_is_refused(name, factor, parts, tmp_path):
    path = made(**parts).save(tmp_path / "a.npz")

    def guarantee_alone(about):
        about["guarantee"][name] *= factor

    with pytest.raises(dp.FileError, match="guarantee does not follow from its receipts"):
        dp.Release.load(edited(path, guarantee_alone))
    if factor > 0.9999:
        return  # with receipts to match, what is as good as the same or weaker does follow

    def receipts_too(about):
        guarantee_alone(about)
        about["receipts"][-1][name] = about["guarantee"][name]

    path = made(**parts).save(tmp_path / "a.npz")
    with pytest.raises(dp.FileError, match="guarantee does not follow from its receipts"):
        dp.Release.load(edited(path, receipts_too))


def test_an_added_guarantee_is_refused(tmp_path):
    """To a run with a seed, to one that is not private, to one that is not proven, and to one without receipts."""
    claim = charged()["guarantee"].to_dict()
    unproven = Repeat(SubsampledGaussian(0.5, 1000, 100, "poisson"), 3)
    guarantee, receipt = Purse(dp.Budget(200.0, 1e-6), of_releases(3)).charge(
        "test", unproven, cost=Bound(150.0, "test")
    )
    assert guarantee is None
    free = Receipt("test", 1.0, 1e-6, receipt.arithmetic, event=Repeat(NonPrivate("no"), 3))
    for receipts, why in ((charged()["receipts"], "seed="), ((receipt,), ""), ((free,), ""), ((), "")):
        path = made(guarantee=None, receipts=receipts, no_guarantee=why).save(tmp_path / "a.npz")
        dp.Release.load(path)
        numbers = {name: getattr(receipts[-1], name) for name in ("epsilon", "delta")} if receipts else {}
        with pytest.raises(dp.FileError, match="guarantee"):
            dp.Release.load(edited(path, lambda about, n=numbers: about.update(guarantee=claim | n)))


def test_a_seeded_run_does_not_load_with_the_guarantee_of_its_plan(tmp_path):
    plan = dp.plan(
        dp.models.GaussianMean(), 50, dp.Budget(1.0, 1e-6), method=dp.dp_barker(step=0.1, clip=0.01), draws=4
    )
    release = plan.sample(np.zeros((50, 1)), seed=1, progress=False)
    path = edited(
        release.save(tmp_path / "a.npz"),
        lambda about: about.update(guarantee=plan.guarantee.to_dict(), no_guarantee=""),
    )
    with pytest.raises(dp.FileError, match="a run with seed= has no guarantee"):
        dp.Release.load(path)


@pytest.mark.parametrize("name", ["relation", "unit", "arithmetic"])
def test_whom_a_guarantee_protects_is_not_edited(name, tmp_path):
    path = made().save(tmp_path / "a.npz")
    other = {"relation": "add_remove", "unit": "person", "arithmetic": 0.0}[name]
    with pytest.raises(dp.FileError, match="guarantee does not follow from its receipts"):
        dp.Release.load(edited(path, lambda about: about["guarantee"].update({name: other})))


def test_arithmetic_does_not_gain_precision(tmp_path):
    """It would pay for a smaller epsilon."""
    path = made().save(tmp_path / "a.npz")

    def edit(about):
        about["receipts"][0]["arithmetic"]["log_error"] = -0.25
        for part in (about["receipts"][0], about["guarantee"]):
            part["epsilon"] = 0.5
        about["guarantee"]["arithmetic"] = -0.5

    with pytest.raises(dp.FileError, match="gains precision"):
        dp.Release.load(edited(path, edit))


@pytest.mark.parametrize(
    "arrays",
    [
        {"draws/theta": np.zeros((2, 19, 3))},
        {"draws/theta": np.zeros((3, 20, 3))},
        {"draws/theta": np.zeros(2)},
        {"sample_stats/accepted": np.zeros((2, 19), bool)},
        {"draws/more": np.zeros((2, 20))},
    ],
)
def test_draws_are_those_of_the_settings(arrays, tmp_path):
    path = made().save(tmp_path / "a.npz")
    found = sealed.unpack("release", path.read_bytes(), path)
    path.write_bytes(sealed.pack("release", found.arrays | arrays, found.about))
    with pytest.raises(dp.FileError, match="arrays are not those that it lists"):
        dp.Release.load(path)
    listed = {name: [x.dtype.str, list(x.shape)] for name, x in (found.arrays | arrays).items()}
    path.write_bytes(sealed.pack("release", found.arrays | arrays, found.about | {"arrays": listed}))
    if "draws/more" not in arrays:
        with pytest.raises(dp.FileError, match=r"different chains and draws|settings say"):
            dp.Release.load(path)


@pytest.mark.parametrize("change", [{"chains": 3}, {"draws": 21}, {"steps": 19}, {"warmup": 21}, {"warmup": -1}])
def test_settings_are_those_of_the_draws(change, tmp_path):
    path = made().save(tmp_path / "a.npz")
    with pytest.raises(dp.FileError, match="settings say"):
        dp.Release.load(edited(path, lambda about: about["settings"].update(change)))


def test_a_failed_overwrite_keeps_the_old_release(tmp_path, monkeypatch):
    release = made()
    path = release.save(tmp_path / "a.npz")
    with pytest.raises(TypeError):
        replace(release, settings={"model": object()}).save(path)
    same(dp.Release.load(path), release)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk.os, "fsync", full)
        with pytest.raises(dp.FileError, match=r"a\.npz cannot be written: No space left"):
            replace(release, notes=()).save(path)
    same(dp.Release.load(path), release)
    assert path.stat().st_mode & 0o077 == 0


def test_files_of_older_formats_say_so(tmp_path):
    np.savez(tmp_path / "old.npz", **{"release.json": np.zeros(3, np.uint8), "draws/theta": np.zeros((2, 3))})
    with pytest.raises(dp.FileError, match=r"old\.npz is not a saved release.*format 3 or before"):
        dp.Release.load(tmp_path / "old.npz")
    path = made().save(tmp_path / "a.npz")
    with pytest.raises(dp.FileError, match="format 99, and this version reads format 4"):
        dp.Release.load(edited(path, lambda about: about.update(format=99)))
    with pytest.raises(dp.FileError, match=r"nowhere\.npz cannot be read: No such file"):
        dp.Release.load(tmp_path / "nowhere.npz")


def test_a_signed_release_is_as_its_custodian_signed_it(tmp_path):
    private, public, other = tmp_path / "k.pem", tmp_path / "k.pub.pem", tmp_path / "other.pub.pem"
    signatures.make_keys(private, public)
    signatures.make_keys(tmp_path / "other.pem", other)
    release = made()
    path = release.save(tmp_path / "a.npz", key=private)
    same(dp.Release.load(path, trusted=public), release)
    same(dp.Release.load(path), release)
    with pytest.raises(dp.FileError, match="was not signed by the key"):
        dp.Release.load(path, trusted=other)
    signature = sealed.unpack("release", path.read_bytes(), path).extra
    other_draws = replace(release, draws={name: x + 1 for name, x in release.draws.items()})
    content = other_draws.save(tmp_path / "b.npz").read_bytes()  # everything in it is consistent
    with pytest.raises(dp.FileError, match="is not signed"):
        dp.Release.load(tmp_path / "b.npz", trusted=public)
    (tmp_path / "b.npz").write_bytes(sealed.signed(content, signature))
    with pytest.raises(dp.FileError, match="was not signed by the key"):
        dp.Release.load(tmp_path / "b.npz", trusted=public)


def load_or_refuse(path, content, release):
    """Loaded with the guarantee it had (or none), or refused by our own error; never long."""
    path.write_bytes(content)
    began, loaded, refusal = time.process_time(), None, ""
    try:
        loaded = dp.Release.load(path)
    except dp.FileError as error:
        refusal = str(error)
    assert time.process_time() - began < 20
    assert loaded is not None or str(path) in refusal
    if loaded is not None and loaded.guarantee is not None:
        assert replace(loaded.guarantee, method="") == replace(release.guarantee, method="")
    return loaded


def fuzz_bytes(path, release, count, seed):
    content, rng = release.save(path).read_bytes(), np.random.default_rng(seed)
    for _ in range(count):
        if loaded := load_or_refuse(path, mutations.of_bytes(rng, content), release):
            same(loaded, release)  # what changed was the place for a signature, which nobody asked for


def fuzz_contents(path, release, count, seed):
    """Edits by somebody who computes the digest again."""
    found, rng = sealed.unpack("release", release.save(path).read_bytes(), path), np.random.default_rng(seed)
    accepted = 0
    for i in range(count):
        arrays, about = found.arrays, found.about
        if i % 4:
            about = mutations.of_json(rng, about)
        else:
            arrays = mutations.of_arrays(rng, arrays)
        loaded = load_or_refuse(path, sealed.pack("release", arrays, about), release)
        if loaded is not None:
            accepted += 1
            assert {n: x.tobytes() for n, x in loaded.draws.items()} == {
                n: x.tobytes() for n, x in release.draws.items()
            }
            str(loaded)
    assert accepted < count / 2


def test_mutated_releases_are_refused(tmp_path):
    fuzz_bytes(tmp_path / "a.npz", made(), 700, 1)
    fuzz_contents(tmp_path / "a.npz", made(), 120, 2)
    fuzz_contents(tmp_path / "a.npz", made(**AFTER), 60, 3)


def test_every_byte_of_a_release_matters(tmp_path):
    """A flipped bit anywhere but in the place for a signature."""
    path = made().save(tmp_path / "a.npz")
    content = path.read_bytes()
    place = len(content) - sealed._comment_length("release") + len("dpmcmc release ")
    for at in set(range(0, len(content), 7)) | set(range(len(content) - 300, len(content))):
        if not place <= at < place + 128:
            with pytest.raises(dp.FileError):
                sealed.unpack("release", content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], path)


def test_gaussian_sums_after_bits_follow_from_their_receipts():
    """The sums of one budget, in the order in which they were charged."""
    assert AFTER["guarantee"].epsilon == BUDGET.epsilon
    assert len(AFTER["receipts"]) == 2
    whole = charged(Gaussian(10.0))
    assert whole["guarantee"].epsilon < BUDGET.epsilon
