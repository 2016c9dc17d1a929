"""dpmcmc keys, sign and verify: a custodian vouches for a release, a reader checks it."""

from typer.testing import CliRunner

import dpmcmc as dp
from dpmcmc.cli import app
from tests.test_saved import made


def call(*arguments):
    ran = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
    return ran.exit_code, " ".join(ran.output.split())


def test_a_custodian_signs_and_a_reader_verifies(tmp_path):
    path, name = made().save(tmp_path / "a.npz"), tmp_path / "custodian"
    assert call("keys", name)[0] == 0
    code, said = call("verify", path, "--key", f"{name}.pub.pem")
    assert code == 1
    assert "is not signed" in said
    code, said = call("sign", path, "--key", f"{name}.pem")
    assert code == 0
    assert "(1, 1e-06)-differentially private" in said  # the custodian sees what is signed
    code, said = call("verify", path, "--key", f"{name}.pub.pem")
    assert code == 0
    assert "as it was signed" in said
    assert dp.Release.load(path, trusted=f"{name}.pub.pem").guarantee == made().guarantee
    code, said = call("verify", path)
    assert code == 0
    assert "was not checked" in said
    path.write_bytes(path.read_bytes().replace(b"a note", b"A note"))
    for arguments in (("verify", path), ("sign", path, "--key", f"{name}.pem")):
        code, said = call(*arguments)
        assert code
        assert "is damaged" in said.replace("│ ", "").replace(" │", "")


def test_mistakes_are_named(tmp_path):
    path, name = made().save(tmp_path / "a.npz"), tmp_path / "custodian"
    assert call("verify", tmp_path / "nowhere.npz")[0] == 1
    assert call("sign", path, "--key", path)[0] == 2
    call("keys", name)
    code, said = call("keys", name)
    assert code == 2
    assert "never overwritten" in said
