"""The files that a session read and modified, as its calls say."""

from __future__ import annotations

import msgspec
import pytest

from eventstore.files.importing import import_file
from eventstore.harnesses.pi import TOOLS
from eventstore.records import BranchSummary, Compaction, CustomMessage, FileOperations, LeafMoved
from eventstore.views import ToolCall
from projections.context.cursor import ROOT
from projections.files import abandoned_entries, claimed_files, file_operations, files_of_call
from tests.support.events import stored
from tests.support.pi_files import header
from tests.support.talk import assistant, call, result, user

READING = ["read", "Read", "read_file", "view", "NotebookRead"]
MODIFYING = [
    "write",
    "edit",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "write_file",
    "edit_file",
    "multiedit",
    "multi_edit",
]
PATCHING = ["apply_patch", "patch"]
PATCH = """*** Begin Patch
*** Add File: new.py
+print()
*** Update File: old name.py
*** Move to: moved.py
@@
-*** Delete File: not a header
*** Delete File: gone.py\r
*** End Patch"""


def called(tool, **arguments):
    return files_of_call(ToolCall("c1", tool, msgspec.json.encode(arguments)), TOOLS)


def operations(read=(), modified=()):
    return FileOperations(read_files=list(read), modified_files=list(modified))


def details(*read, modified=()):
    return {"details": {"readFiles": list(read), "modifiedFiles": list(modified)}}


@pytest.mark.parametrize("tool", READING)
def test_a_call_of_a_reading_tool_reads(tool):
    assert called(tool, path="a.py") == (["a.py"], [])


@pytest.mark.parametrize("tool", ["str_replace_based_edit_tool", "str_replace_editor", "memory"])
def test_an_editor_reads_what_it_views_and_modifies_all_else(tool):
    assert called(tool, command="view", path="a.py") == (["a.py"], [])
    assert called(tool, command="str_replace", path="a.py") == ([], ["a.py"])
    assert called(tool, command="rename", old_path="a", new_path="b") == ([], ["a", "b"])


def test_a_patch_that_is_all_of_a_calls_arguments_modifies():
    call = ToolCall("c1", "apply_patch", msgspec.json.encode(PATCH))
    assert files_of_call(call, TOOLS)[1] == ["new.py", "old name.py", "moved.py", "gone.py"]


def test_a_patch_that_is_no_json_modifies():
    assert files_of_call(ToolCall("c1", "apply_patch", PATCH.encode()), TOOLS)[1][:1] == ["new.py"]


def test_a_patch_that_is_handed_to_a_shell_modifies():
    assert called("shell", command=["apply_patch", PATCH])[1] == [
        "new.py",
        "old name.py",
        "moved.py",
        "gone.py",
    ]
    heredoc = f"apply_patch <<'EOF'\n{PATCH}\nEOF"
    assert called("bash", command=heredoc)[1] == ["new.py", "old name.py", "moved.py", "gone.py"]


@pytest.mark.parametrize("tool", MODIFYING)
def test_a_call_of_a_modifying_tool_modifies(tool):
    assert called(tool, path="a.py") == ([], ["a.py"])


@pytest.mark.parametrize("tool", ["bash", "grep", "READ", "reading", ""])
def test_a_call_of_any_other_tool_touches_nothing(tool):
    assert called(tool, path="a.py") == ([], [])


@pytest.mark.parametrize("name", ["path", "file_path", "filePath", "notebook_path"])
def test_the_path_argument_has_any_of_the_harnesses_names(name):
    assert called("read", **{name: "a.py"}) == (["a.py"], [])


@pytest.mark.parametrize("path", ["", None, 7, ["a.py"]])
def test_a_path_that_is_no_text_or_empty_touches_nothing(path):
    assert called("edit", path=path) == ([], [])


@pytest.mark.parametrize(
    "selector",
    [
        *(":50-200", ":50-", ":50", ":raw", ":1-5:raw", ":conflicts", ":1-5,9-12", ":5,9,20-", ":raw:1-5,7"),
        *(
            ":L3-L9",
            ":L3",
            ":l3-9",
            ":50+10",
            ":3..9",
            ":3..",
            ":L3..L9,20+5:raw",
            ":RAW",
            ":RAW:L3",
            ":Conflicts",
        ),
    ],
)
def test_a_selector_is_no_part_of_what_is_read(selector):
    assert called("read", path=f"src/a.py{selector}") == (["src/a.py"], [])


@pytest.mark.parametrize("path", ["a:b.py", "C:/a.py", "a.py:", "a.py:raw.txt", "a.py:12x", ":raw", ":1:2x"])
def test_what_only_looks_like_a_selector_is_part_of_the_path(path):
    assert called("read", path=path) == ([path], [])


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("a:1:2", "a:1"),
        ("a:raw:raw", "a:raw"),
        ("a:1:raw:2", "a:1"),
        ("a:conflicts:raw", "a:conflicts"),
        ("a:raw:conflicts", "a:raw"),
        (":raw:1", ":raw"),
    ],
)
def test_one_selector_is_taken_off(path, read):
    assert called("read", path=path) == ([read], [])


def test_a_path_that_is_modified_has_no_selectors():
    assert called("write", path="odd:50") == ([], ["odd:50"])


@pytest.mark.parametrize("tool", ["read", "edit"])
@pytest.mark.parametrize("path", ["skill://x", "https://host/a.py", "artifact://3:raw"])
def test_a_path_with_a_scheme_is_no_file(tool, path):
    assert called(tool, path=path) == ([], [])


@pytest.mark.parametrize("tool", PATCHING)
@pytest.mark.parametrize("argument", ["patch", "input", "patchText"])
def test_a_patch_modifies_what_its_headers_name(tool, argument):
    assert called(tool, **{argument: PATCH}) == ([], ["new.py", "old name.py", "moved.py", "gone.py"])


def test_a_patch_without_headers_touches_nothing():
    assert called("apply_patch", input="--- a\n+++ b\n") == ([], [])


def test_a_patch_of_a_path_with_a_scheme_modifies_no_file():
    assert called("apply_patch", input="*** Update File: memory://x\n") == ([], [])


@pytest.mark.parametrize("arguments", [b"[]", b"null", b"{", b'"a.py"'])
def test_arguments_that_are_no_object_touch_nothing(arguments):
    assert files_of_call(ToolCall("c1", "read", arguments), TOOLS) == ([], [])


def test_what_was_read_and_modified_is_listed_as_modified(story):
    story.says(assistant(call("read", path="a.py"), call("read", path="b.py"), call("edit", path="a.py")))
    assert file_operations(story.log, "s") == operations(["b.py"], ["a.py"])


def test_lists_are_in_order_of_utf16(story):
    names = ["\ue000.py", "\U0001f600.py", "z.py", "a.py", "\u00e9.py"]
    story.says(assistant(*(call("read", path=name) for name in names)))
    story.says(assistant(*(call("write", path=f"w{name}") for name in names)))
    ordered = ["a.py", "z.py", "\u00e9.py", "\U0001f600.py", "\ue000.py"]
    assert file_operations(story.log, "s") == operations(ordered, [f"w{name}" for name in ordered])


def test_a_call_that_failed_counts(story):
    story.says(assistant(call("edit", path="a.py")), result("no such file", is_error=True))
    assert file_operations(story.log, "s") == operations(modified=["a.py"])


def test_a_call_whose_other_arguments_are_damaged_counts(store, tmp_path, pi):
    pi.says("a1", assistant(call("write", path="a.py", content="half a pair \ud83d")))
    assert file_operations(store, pi.store_in(store, tmp_path)) == operations(modified=["a.py"])


def test_a_call_whose_other_arguments_are_no_utf8_counts(store, tmp_path):
    content = b'[{"type":"toolCall","id":"c","name":"write","arguments":{"path":"a.py","content":"\xff"}}]'
    message = b'{"role":"assistant","content":%s}' % content
    path = tmp_path / "session.jsonl"
    path.write_bytes(header() + b'{"type":"message","id":"a1","parentId":null,"message":%s}\n' % message)
    assert file_operations(store, import_file(store, path).id) == operations(modified=["a.py"])


def test_a_call_whose_name_is_escaped_counts(store, tmp_path):
    content = rb'[{"type":"toolCall","id":"c","name":"\u0077rite","arguments":{"path":"a.py"}}]'
    message = b'{"role":"assistant","content":%s}' % content
    path = tmp_path / "session.jsonl"
    path.write_bytes(header() + b'{"type":"message","id":"a1","parentId":null,"message":%s}\n' % message)
    assert file_operations(store, import_file(store, path).id) == operations(modified=["a.py"])


def test_calls_of_another_branch_do_not_count(story):
    root, _ = story.says(user("root"), assistant(call("read", path="a.py")))
    story.add(LeafMoved(from_id="e2"), parent=root)
    assert file_operations(story.log, "s") == operations()


def test_files_behind_a_compaction_count(story):
    story.says(assistant(call("read", path="a.py")))
    (kept,) = story.says(user("kept"))
    story.add(Compaction(summary="before", first_kept_entry_id=kept, tokens_before=9))
    assert file_operations(story.log, "s") == operations(["a.py"])


def test_the_root_has_touched_nothing(story):
    story.says(assistant(call("read", path="a.py")))
    assert file_operations(story.log, "s", leaf=ROOT) == operations()


def test_what_a_compaction_claims_is_not_believed_where_the_log_knows(store, tmp_path, pi):
    pi.says("a1", assistant(call("read", path="a.py")))
    pi.compacts("a2", "a1", **details("claimed.py"))
    assert file_operations(store, pi.store_in(store, tmp_path)) == operations(["a.py"])


def test_what_a_compaction_claims_counts_where_its_history_is_not_in_the_log(store, tmp_path, pi):
    pi.compacts("a1", "gone", **details("r.py", modified=["m.py"]))
    pi.says("a2", assistant(call("read", path="a.py")))
    assert file_operations(store, pi.store_in(store, tmp_path)) == operations(["a.py", "r.py"], ["m.py"])


@pytest.mark.parametrize("mark", ["fromHook", "fromExtension"])
def test_what_an_extension_claims_never_counts(store, tmp_path, pi, mark):
    pi.compacts("a1", "gone", **details("r.py"), **{mark: True})
    assert file_operations(store, pi.store_in(store, tmp_path)) == operations()


def test_a_mark_of_extensions_that_says_no_is_none(store, tmp_path, pi):
    pi.compacts("a1", "gone", **details("r.py"), fromHook=False)
    assert file_operations(store, pi.store_in(store, tmp_path)) == operations(["r.py"])


@pytest.mark.parametrize("claim", [None, "r.py", ["r.py"], {}, {"other": []}])
def test_details_that_list_no_files_claim_nothing(store, tmp_path, pi, claim):
    pi.compacts("a1", "gone", details=claim)
    session = pi.store_in(store, tmp_path)
    assert claimed_files(stored(store, session, "a1")) is None


def test_only_texts_are_claimed_paths(store, tmp_path, pi):
    pi.compacts("a1", "gone", details={"readFiles": ["r.py", 7, None], "modifiedFiles": "m.py"})
    assert file_operations(store, pi.store_in(store, tmp_path)) == operations(["r.py"])


def test_a_branch_that_was_left_counts_with_its_summary(story):
    root, left = story.says(user("root"), assistant(call("edit", path="left.py")))
    story.add(BranchSummary(from_id=root, summary="tried", left=left), parent=root)
    assert file_operations(story.log, "s") == operations(modified=["left.py"])


def test_the_branch_that_a_summary_of_pi_is_about_ends_where_the_session_stood(store, tmp_path, pi):
    pi.says("a1", user("root"))
    pi.says("a2", assistant(call("read", path="left.py")))
    pi.says("a3", user("the end of it"))
    pi.entry("a4", "branch_summary", parent="a1", fromId="a1", summary="tried", **details("claimed.py"))
    session = pi.store_in(store, tmp_path)
    assert file_operations(store, session) == operations(["left.py"])


def test_the_entries_of_a_branch_that_was_left_are_those_below_the_common_one(store, tmp_path, pi):
    pi.says("a1", user("root"))
    pi.says("a2", user("shared"))
    pi.says("a3", user("left"))
    pi.says("a4", user("left, too"))
    pi.entry("a5", "branch_summary", parent="a2", fromId="a2", summary="tried")
    session = pi.store_in(store, tmp_path)
    with store.snapshot() as snapshot:
        left = abandoned_entries(stored(store, session, "a5"), snapshot)
    assert [entry.id for entry in left] == ["a3", "a4"]


def test_a_branch_summary_that_left_nothing_in_the_log_counts_with_its_claim(store, tmp_path, pi):
    pi.says("a1", user("root"))
    pi.entry("a2", "branch_summary", fromId="a1", summary="tried", **details("claimed.py"))
    assert file_operations(store, pi.store_in(store, tmp_path)) == operations(["claimed.py"])


def test_a_compaction_on_a_branch_that_was_left_is_not_believed_about_the_trunk(story):
    root = story.says(assistant(call("read", path="trunk.py")))[0]
    claim = FileOperations(read_files=["claimed.py"], modified_files=[])
    left = story.add(
        Compaction(summary="all", first_kept_entry_id=root, tokens_before=9, details=claim),
        CustomMessage(custom_type="x", content="after it"),
    )
    story.add(BranchSummary(from_id="root", summary="tried", left=left), parent=root)
    assert file_operations(story.log, "s") == operations(["trunk.py"])


def test_a_summary_of_a_branch_with_a_summary_counts_with_both(story):
    root = story.says(user("root"))[0]
    (first,) = story.says(assistant(call("read", path="first.py")))
    second = story.add(BranchSummary(from_id=root, summary="tried", left=first), parent=root)
    story.add(BranchSummary(from_id=root, summary="tried again", left=second), parent=root)
    assert file_operations(story.log, "s") == operations(["first.py"])


def test_a_branch_summary_that_names_a_later_leaf_is_believed(log, tmp_path, pi):
    pi.says("a1", user("root"))
    pi.entry("a2", "branch_summary", fromId="a1", summary="x", left="a3", **details("claimed.py"))
    pi.says("a3", assistant(call("read", path="later.py")))
    assert file_operations(log, pi.store_in(log, tmp_path)) == operations(["claimed.py", "later.py"])


def test_going_to_and_fro_between_two_branches_is_folded_in_time(story):
    root = story.says(user("root"))[0]
    tips = [story.add(CustomMessage(custom_type="x", content=name), parent=root) for name in "ab"]
    for turn in range(40):
        here, there = tips[turn % 2], tips[1 - turn % 2]
        tips[1 - turn % 2] = story.add(BranchSummary(from_id=there, summary="to", left=here), parent=there)
    assert file_operations(story.log, "s") == operations()
