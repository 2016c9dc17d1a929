"""Sealed files give back what was put in, or refuse."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpmcmc.files import FileError, sealed

DTYPES = st.one_of(hnp.boolean_dtypes(), hnp.integer_dtypes(), hnp.floating_dtypes(sizes=(32, 64)))
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0)))
NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\\"), min_size=1, max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(NAMES, ARRAYS, max_size=3), st.dictionaries(st.text(), JSON, max_size=3))
def test_what_goes_in_comes_out(arrays, about):
    found = sealed.unpack("release", sealed.pack("release", arrays, about), "f")
    assert found.about == about
    assert found.arrays.keys() == arrays.keys()
    for name, values in arrays.items():
        assert (found.arrays[name].dtype, found.arrays[name].shape) == (values.dtype, values.shape)
        assert found.arrays[name].tobytes() == values.tobytes()


@given(st.data())
def test_a_byte_that_changes_is_seen(data):
    content = bytearray(sealed.pack("checkpoint", {"x": np.arange(5)}, {"a": 1}, bytes(range(32))))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(FileError):
        sealed.unpack("checkpoint", bytes(content), "f")


def resealed(members, method=zipfile.ZIP_STORED):
    """A release's file with these members, by somebody who knows how it is sealed."""
    buffer, length = io.BytesIO(), sealed._comment_length("release")
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
        archive.comment = b" " * length
    body = buffer.getvalue()[:-length]
    return body + sealed._comment("release", bytes(64), sealed._seal("release", body, b""))


def npy(array, **settings):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **settings)
    return buffer.getvalue()


ABOUT = ("about.json", json.dumps({}))


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("code was run",))


BAD = {
    "compressed (a bomb)": resealed([ABOUT, ("x.npy", npy(np.zeros(10**6)))], zipfile.ZIP_DEFLATED),
    "pickled": resealed([ABOUT, ("x.npy", npy(np.array([Evil()]), allow_pickle=True))]),
    "text": resealed([ABOUT, ("x.npy", npy(np.array(["a"])))]),
    "too long a shape": resealed([ABOUT, ("x.npy", npy(np.zeros(3)).replace(b"(3,)", b"(9,)"))]),
    "a vast shape": resealed([ABOUT, ("x.npy", npy(np.zeros(3)).replace(b"(3,), }        ", b"(99999999,), } "))]),
    "a negative shape": resealed([ABOUT, ("x.npy", npy(np.zeros((1, 3))).replace(b"(1, 3)", b"(-1,-3)"[:6]))]),
    "fortran": resealed([ABOUT, ("x.npy", npy(np.asfortranarray(np.zeros((2, 3)))))]),
    "no header": resealed([ABOUT, ("x.npy", b"12345")]),
    "no about": resealed([("x.npy", npy(np.zeros(3)))]),
    "about is a list": resealed([("about.json", "[]")]),
    "deep": resealed([("about.json", "[" * 10**5)]),
    "not JSON": resealed([("about.json", "{'a': 1}")]),
    "long number": resealed([("about.json", '{"a": ' + "9" * 5000 + "}")]),
    "empty": b"",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_what_is_made_by_hand_is_refused(content):
    with pytest.raises(FileError, match=r"^f is "):
        sealed.unpack("release", content, "f")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused():
    with pytest.raises(FileError, match="two members have one name"):
        sealed.unpack("release", resealed([ABOUT, ("x.npy", npy(np.zeros(1))), ("x.npy", npy(np.ones(1)))]), "f")


def test_a_name_that_an_archive_would_cut_off_is_refused():
    with pytest.raises(ValueError, match="cannot be the name of an array"):
        sealed.pack("release", {"a\0b": np.zeros(1)}, {})


def test_members_that_overlap_are_refused():
    """Many names for the same bytes: small on disk, vast in memory."""
    content = resealed([ABOUT, ("x.npy", npy(np.zeros(1000)))])
    length, end = sealed._comment_length("release"), content.rindex(b"PK\5\6")
    first = content.index(b"PK\1\2", content.index(b"PK\1\2") + 4)
    entries = [content[first:end].replace(b"x.npy", f"{i:01x}.npy".encode()) for i in range(16)]
    count = (1 + len(entries)).to_bytes(2, "little")
    directory = content[content.index(b"PK\1\2") : first] + b"".join(entries)
    tail = content[end : end + 8] + count + count + len(directory).to_bytes(4, "little") + content[end + 16 : -length]
    body = content[: content.index(b"PK\1\2")] + directory + tail
    made = body + sealed._comment("release", bytes(64), sealed._seal("release", body, b""))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert len(archive.infolist()) == 17
    with pytest.raises(FileError, match="more bytes than the file"):
        sealed.unpack("release", made, "f")


def test_it_is_still_an_npz(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(sealed.pack("release", {"draws/x": np.arange(3)}, {"a": 1}))
    with np.load(path) as found:
        assert np.array_equal(found["draws/x"], [0, 1, 2])
        assert json.loads(found["about.json"]) == {"a": 1}


def test_a_checkpoint_is_no_release():
    content = sealed.pack("checkpoint", {}, {}, bytes(range(32)))
    with pytest.raises(FileError, match="not a saved release"):
        sealed.unpack("release", content, "f")
