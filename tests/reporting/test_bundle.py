"""The script of Vega is made once and kept; what is kept is never believed unless it is whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import vl_convert

from nci_frames.reporting import bundle


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep copies in a folder of the test, and count what is made."""
    monkeypatch.setattr(bundle, "user_cache_path", lambda name: tmp_path / name)
    # The real script takes more than a second; the pages of other tests have it.
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "a('</script>', '<!--')")
    bundle.vega_bundle.cache_clear()
    yield tmp_path / "nci_frames"
    bundle.vega_bundle.cache_clear()


def again() -> str:
    """Return the script as another process does."""
    bundle.vega_bundle.cache_clear()
    return bundle.vega_bundle()


def test_the_script_is_made_once(cache, monkeypatch):
    made = bundle.vega_bundle()
    assert made == "a('<\\/script>', '<\\!--')"
    monkeypatch.setattr(vl_convert, "javascript_bundle", None)
    assert again() == made
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda _: b"", lambda _: b"alert()" * 9])
def test_a_copy_that_is_not_whole_is_made_again(cache, damage):
    made = bundle.vega_bundle()
    (copy,) = cache.iterdir()
    whole = copy.read_bytes()
    copy.write_bytes(damage(whole))
    assert again() == made
    assert copy.read_bytes() == whole


def test_without_a_place_for_copies_each_process_makes_its_own(cache):
    cache.write_text("a file where the folder would be")
    assert bundle.vega_bundle() == again() == "a('<\\/script>', '<\\!--')"


def test_another_version_has_another_copy(cache, monkeypatch):
    bundle.vega_bundle()
    monkeypatch.setattr(bundle, "version", lambda _: "99")
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "b()")
    assert again() == "b()"
    assert len(list(cache.iterdir())) == 2
