"""Build contexts, and check them part by part."""

from __future__ import annotations

import json

import pytest

from eventstore import Parent, SessionWriter, open_store
from eventstore.errors import CorruptionError, NotFoundError
from eventstore.files.importing import import_file
from eventstore.lmdb.snapshot import LmdbSnapshot
from eventstore.records import BranchSummary, Compaction, CustomMessage, ModelChange, Rewrite, TextReplacement
from projections.context.build import build_context, context_json
from projections.context.cursor import ROOT
from projections.context.parts import Fate
from tests.support.pi_files import header
from tests.support.talk import PiSession, Story, assistant, result, texts_of, user


def raws(log, session, **where):
    return [part.raw for part in build_context(log, session, **where).parts]


def fates(log, session):
    return [part.fate for part in build_context(log, session).parts]


def shown(target, to="shorter", block=None):
    return Rewrite(reason="prune", targets=[TextReplacement(target=target, text=to, block=block)])


def compacted(first_kept="", summary="what was before"):
    return Compaction(summary=summary, first_kept_entry_id=first_kept, tokens_before=9)


def test_a_message_is_a_slice_of_its_record_byte_for_byte(store, tmp_path):
    message = b'{ "role":"user","content" : "caf\\u00e9 caf\xc3\xa9", "n":1.0, "n2":1e3,"role":"user"}'
    record = b'{"type":"message","id":"a1","parentId":null , "message" :  %s ,"x":0}\r\n' % message
    path = tmp_path / "session.jsonl"
    path.write_bytes(header() + record)
    assert [message] == raws(store, import_file(store, path).id)


def test_the_messages_of_a_context_stand_in_its_json_as_they_were_recorded(story):
    messages = [user("one"), assistant("two"), result("three")]
    story.says(*messages)
    spliced = b",".join(json.dumps(message, separators=(",", ":")).encode() for message in messages)
    assert (
        b'{"messages":[%s],"thinkingLevel":"off","model":{"provider":"p","modelId":"m"}}' % spliced
        == context_json(story.log, "s")
    )


def test_a_message_that_nothing_touched_is_kept(story):
    story.says(user("hello"))
    assert fates(story.log, "s") == [Fate.KEPT]


def test_a_message_with_other_content_is_rewritten(story):
    (target,) = story.says(user("hello"))
    story.add(shown(target))
    assert fates(story.log, "s") == [Fate.REWRITTEN]


def test_a_compaction_is_a_summary_and_stands_before_what_it_kept(story):
    _, kept = story.says(user("old"), user("kept"))
    story.add(compacted(kept))
    context = build_context(story.log, "s")
    assert [(part.role, part.fate) for part in context.parts] == [
        ("compactionSummary", Fate.SUMMARY),
        ("user", Fate.KEPT),
    ]


def test_a_branch_summary_is_a_summary(story):
    story.add(BranchSummary(from_id="root", summary="the other way"))
    assert fates(story.log, "s") == [Fate.SUMMARY]


def test_a_custom_message_is_injected(story):
    story.add(CustomMessage(custom_type="note", content="by the way"))
    assert fates(story.log, "s") == [Fate.INJECTED]


def test_an_entry_that_is_no_message_has_no_part(story):
    story.add(ModelChange(provider="p", model_id="m"))
    assert build_context(story.log, "s").parts == ()


def test_a_part_names_the_event_that_it_comes_from(story):
    story.add(ModelChange(provider="p", model_id="m"))
    (said,) = story.says(user("hello"))
    (part,) = build_context(story.log, "s").parts
    assert (2, said, "message", "user") == (part.seq, part.id, part.kind, part.role)


def test_the_context_of_the_root_is_empty(story):
    story.says(assistant("hello"))
    assert context_json(story.log, "s", leaf=ROOT) == b'{"messages":[],"thinkingLevel":"off","model":null}'


def test_a_context_says_where_it_stands(story):
    first, _ = story.says(user("one"), user("two"))
    context = build_context(story.log, "s", leaf=first, as_of=2)
    assert ("s", first, 2, "pi") == (context.session, context.leaf, context.as_of, context.rules)


def test_the_root_of_a_context_has_no_id(story):
    story.says(user("one"))
    assert build_context(story.log, "s", leaf=ROOT).leaf is None


def test_rules_that_are_not_there_are_refused_by_name(story):
    story.says(user("one"))
    with pytest.raises(NotFoundError) as refused:
        build_context(story.log, "s", rules="emacs")
    assert refused.value.name == "emacs"


def test_a_compaction_that_keeps_from_another_branch_keeps_nothing(story):
    root, elsewhere = story.says(user("root"), user("elsewhere"))
    story.add(compacted(elsewhere), parent=root)
    assert texts_of(build_context(story.log, "s")) == ["what was before"]


def test_a_compaction_that_keeps_from_a_branch_older_than_its_own_keeps_nothing(story):
    root, elsewhere = story.says(user("root"), user("elsewhere"))
    story.add(CustomMessage(custom_type="x", content="here"), parent=root)
    story.add(compacted(elsewhere))
    assert texts_of(build_context(story.log, "s")) == ["what was before"]


def test_an_older_compaction_between_kept_messages_shows_nothing(story):
    (first,) = story.says(user("first"))
    story.add(compacted(first, "older summary"))
    story.says(user("second"))
    story.add(compacted(first, "newer summary"))
    assert texts_of(build_context(story.log, "s")) == ["newer summary", "first", "second"]


def test_a_branch_summary_without_a_text_shows_nothing(story):
    story.says(user("hello"))
    story.add(BranchSummary(from_id="e1", summary=""))
    assert texts_of(build_context(story.log, "s")) == ["hello"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_hook_message_of_an_older_version_is_a_custom_one(store, tmp_path, version):
    session = PiSession(version)
    session.says("a1", {"role": "hookMessage", "content": "from a hook", "display": True})
    (part,) = build_context(store, session.store_in(store, tmp_path)).parts
    assert (part.role, json.loads(part.raw)) == (
        "custom",
        {"role": "custom", "content": "from a hook", "display": True},
    )


@pytest.mark.parametrize("said", ["from a hook", "half a pair \ud83d"])
def test_a_hook_message_of_the_newest_version_stays_one(store, tmp_path, pi, said):
    pi.says("a1", {"role": "hookMessage", "content": said})
    (part,) = build_context(store, pi.store_in(store, tmp_path)).parts
    assert {"role": "hookMessage", "content": said} == json.loads(part.raw)


@pytest.mark.parametrize(
    ("record", "shown_as"),
    [
        (
            b'"type":"message","message":{"role":"user","content":"a\xff\xfeb"}',
            {"role": "user", "content": "a\ufffd\ufffdb"},
        ),
        (
            b'"type":"custom_message","customType":"x","content":"\xe2\x82 b"',
            {"role": "custom", "customType": "x", "content": "\ufffd b", "timestamp": None},
        ),
        (
            b'"type":"branch_summary","fromId":"root","summary":"\xf0\x9f"',
            {"role": "branchSummary", "fromId": "root", "summary": "\ufffd", "timestamp": None},
        ),
        (
            b'"type":"compaction","summary":"\xff"',
            {"role": "compactionSummary", "summary": "\ufffd", "timestamp": None},
        ),
    ],
)
def test_bytes_that_are_no_utf8_show_as_replacement_characters(store, tmp_path, record, shown_as):
    path = tmp_path / "session.jsonl"
    path.write_bytes(header() + b'{"id":"a1","parentId":null,%s}\n' % record)
    (raw,) = raws(store, import_file(store, path).id)
    assert shown_as == json.loads(raw.decode())


@pytest.mark.parametrize("kind", ["compaction", "branch_summary"])
def test_half_a_surrogate_pair_in_a_summary_stays_the_escape_that_it_is(store, tmp_path, pi, kind):
    pi.entry("a1", kind, summary="cut \ud83d", fromId="root")
    (raw,) = raws(store, pi.store_in(store, tmp_path))
    assert b'"summary":"cut \\ud83d"' in raw


def test_half_a_surrogate_pair_in_a_models_name_stays_the_escape_that_it_is(store, tmp_path, pi):
    pi.entry("a1", "model_change", provider="p", modelId="\ud83d")
    session = pi.store_in(store, tmp_path)
    assert context_json(store, session).endswith(b'"model":{"provider":"p","modelId":"\\ud83d"}}')


def test_a_time_that_is_none_shows_as_null(store, tmp_path, pi):
    pi.entry("a1", "custom_message", customType="x", content="y", timestamp="yesterday")
    (raw,) = raws(store, pi.store_in(store, tmp_path))
    assert json.loads(raw)["timestamp"] is None


def test_fields_that_a_record_lacks_are_not_in_its_message(store, tmp_path, pi):
    pi.entry("a1", "compaction")
    (raw,) = raws(store, pi.store_in(store, tmp_path))
    assert {"role", "timestamp"} == set(json.loads(raw))


def test_a_context_reads_no_more_of_its_path_than_it_may_show(tmp_path, monkeypatch):
    store = open_store(tmp_path / "store")
    story = Story(store)
    ids = story.says(*(user(f"message {number}") for number in range(40)))
    story.add(compacted(ids[-1]))
    read = []
    path = LmdbSnapshot.path

    def noting(*arguments, **options):
        for frame in path(*arguments, **options):
            read.append(bytes(frame))
            yield frame

    monkeypatch.setattr(LmdbSnapshot, "path", noting)
    with store:
        build_context(store, "s", verify=False)
    assert len({*read}) == 2


def test_a_branch_is_folded_from_its_own_path(story):
    root, _ = story.says(user("root"), user("one way"))
    story.add(CustomMessage(custom_type="x", content="another way"), parent=root)
    assert texts_of(build_context(story.log, "s")) == ["root", "another way"]


def test_a_new_root_starts_an_empty_context(story):
    story.says(user("before"))
    story.add(CustomMessage(custom_type="x", content="anew"), parent=None)
    story.add(ModelChange(provider="p", model_id="m"), parent=Parent.LEAF)
    assert texts_of(build_context(story.log, "s")) == ["anew"]


def test_a_verified_context_is_the_context(story):
    story.says(user("one"), assistant("two"))
    assert build_context(story.log, "s") == build_context(story.log, "s", verify=False)


def test_a_verified_context_refuses_an_event_that_was_changed(tmp_path):
    with open_store(tmp_path / "store") as log:
        SessionWriter(log, "s").message(user("one"))
    data = tmp_path / "store" / "data.mdb"
    changed = data.read_bytes().replace(b'"content":"one"', b'"content":"ono"')
    data.write_bytes(changed)
    with open_store(tmp_path / "store") as log:
        assert b'"ono"' in build_context(log, "s", verify=False).parts[0].raw
        with pytest.raises(CorruptionError) as info:
            build_context(log, "s")
        assert (info.value.session, info.value.seq) == ("s", 1)
