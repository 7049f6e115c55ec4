"""Find templates in folders, sessions and packages, in order of precedence."""

from __future__ import annotations

import sys

import pytest

from compaction.templates import (
    IN_SESSION,
    PLUGINS,
    find_template,
    folder_source,
    plugin_sources,
    session_source,
    with_session,
)
from eventstore.errors import BadInputError
from eventstore.records import Custom
from projections.context.cursor import ROOT, resolve_cursor
from tests.support.talk import Story, user


def file(text="Mine.", name="compaction", version=9):
    return f'+++\nname = "{name}"\nversion = {version}\n+++\n{text}\n'


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "templates"
    made.mkdir()
    (made / "compaction.md").write_text(file("The folder's."), "utf-8")
    return made


@pytest.fixture
def story(store):
    story = Story(store)
    story.says(user("hello"))
    return story


def in_session(story, leaf=None):
    """Return the source of the session's own templates."""
    with story.log.snapshot() as snapshot:
        return session_source(snapshot, resolve_cursor(snapshot, "s", leaf=leaf))


def keeps(story, text, name="compaction"):
    return story.add(Custom(custom_type=IN_SESSION, data={"name": name, "text": text}))


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Install a package, for the length of a test, whose function has this body."""

    def install(body, package="mine", module="{}_templates"):
        (tmp_path / f"{package}_templates.py").write_text(f"def template(name):\n    {body}\n")
        info = tmp_path / f"{package}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        point = f"{package} = {module.format(package)}:template"
        (info / "entry_points.txt").write_text(f"[{PLUGINS}]\n{point}\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, f"{package}_templates", raising=False)

    return install


# Folders


def test_a_folder_has_a_template_by_its_files_name(folder):
    template = folder_source(folder)("compaction")
    assert (template.text, template.version) == ("The folder's.", 9)
    assert template.source == str(folder / "compaction.md")


def test_a_folder_without_it_has_none(folder):
    assert folder_source(folder)("branch") is None


def test_a_folder_that_is_not_there_has_none(tmp_path):
    assert folder_source(tmp_path / "nowhere")("compaction") is None


@pytest.mark.parametrize("name", ["../templates/compaction", "/etc/passwd", "..", ""])
def test_a_name_does_not_lead_out_of_the_folder(folder, name):
    assert folder_source(folder)(name) is None


def test_a_file_that_is_not_utf8_is_reported(folder):
    (folder / "compaction.md").write_bytes(b"+++\n\xff")
    with pytest.raises(BadInputError) as raised:
        folder_source(folder)("compaction")
    assert raised.value.source == f"template {folder / 'compaction.md'}"


def test_the_digest_is_of_the_bytes_of_the_file(folder):
    (folder / "compaction.md").write_bytes(file().replace("\n", "\r\n").encode())
    unix = folder_source(folder)("compaction").digest
    (folder / "compaction.md").write_bytes(file().encode())
    assert folder_source(folder)("compaction").digest != unix


# Sessions


def test_a_session_has_templates_of_its_own(story):
    event = keeps(story, file("The session's."))
    template = in_session(story)("compaction")
    assert (template.text, template.source) == ("The session's.", f"session, event {event}")


def test_the_newest_on_the_path_counts(story):
    keeps(story, file("First."))
    keeps(story, file("Second."))
    assert in_session(story)("compaction").text == "Second."


def test_what_stands_on_another_branch_does_not_count(story):
    keeps(story, file("Elsewhere."))
    assert in_session(story, leaf="e1")("compaction") is None


def test_an_empty_path_has_none(store):
    Story(store).says(user("hello"))
    with store.snapshot() as snapshot:
        assert session_source(snapshot, resolve_cursor(snapshot, "s", leaf=ROOT))("compaction") is None


def test_a_template_that_is_broken_is_reported_when_it_is_wanted_and_not_before(story):
    keeps(story, "no front matter", name="branch")
    source = in_session(story)
    assert source("compaction") is None
    with pytest.raises(BadInputError) as raised:
        source("branch")
    assert raised.value.source == "template session, event e2"


@pytest.mark.parametrize("data", [None, "x", {"name": "compaction", "text": None}, {"text": "x"}])
def test_entries_of_other_shapes_break_nothing_else(story, data):
    story.add(Custom(custom_type=IN_SESSION, data=data))
    assert in_session(story)("branch") is None


def test_a_template_that_is_no_text_is_reported(story):
    keeps(story, 7)
    with pytest.raises(BadInputError) as raised:
        in_session(story)("compaction")
    assert raised.value.source == "template session, event e2"


# Plugins


def test_a_package_gives_templates_by_their_names(plugin):
    plugin(f"return {file('The package')!r} if name == 'compaction' else None")
    (source,) = plugin_sources()
    assert source("compaction").text == "The package"
    assert source("compaction").source == "plugin mine"
    assert source("branch") is None


def test_packages_are_asked_in_order_of_their_names(plugin):
    plugin(f"return {file('b')!r}", package="b")
    plugin(f"return {file('a')!r}", package="a")
    assert find_template("compaction", plugin_sources()).text == "a"


def test_a_package_that_raises_is_named_in_one_line(plugin):
    plugin("raise ValueError('no\\nluck')")
    (source,) = plugin_sources()
    with pytest.raises(BadInputError) as raised:
        source("compaction")
    assert (raised.value.source, raised.value.problem) == ("template plugin mine", "ValueError: no luck")
    assert "\n" not in str(raised.value)


def test_a_package_that_cannot_be_loaded_is_named_in_one_line(plugin):
    plugin("pass", module="no_such_module")
    (source,) = plugin_sources()
    with pytest.raises(BadInputError) as raised:
        source("compaction")
    assert raised.value.source == "template plugin mine"
    assert raised.value.problem.startswith("ModuleNotFoundError: ")


# Order


def test_plugin_session_folder_and_built_in_lead_in_this_order(plugin, story, folder):
    plugin(f"return {file('The plugin')!r} if name == 'compaction' else None")
    keeps(story, file("The session's."))
    sources = [*plugin_sources(), folder_source(folder)]
    with story.log.snapshot() as snapshot:
        all_of_them = with_session(sources, snapshot, resolve_cursor(snapshot, "s"))
    led = [find_template("compaction", all_of_them[at:]).text for at in range(4)]
    assert led[:3] == ["The plugin", "The session's.", "The folder's."]
    assert find_template("compaction", []).source == "built-in"
    assert len(all_of_them) == 3


def test_the_first_that_answers_leads(story, folder):
    keeps(story, file("Other.", name="branch"), name="branch")
    with story.log.snapshot() as snapshot:
        sources = with_session([folder_source(folder)], snapshot, resolve_cursor(snapshot, "s"))
    assert find_template("compaction", sources).text == "The folder's."
