"""journal.append, journal.read and an ask for a trial of one's own: what processes of one study share."""
import pytest

from harness import RpcError, wait_until

DISK_FULL = -32004


def read(client, journal, after=0):
    entries, more = [], True
    while more:
        page = client.call("journal.read", journal=journal, after=after + len(entries))
        entries, more = entries + page["entries"], page["more"]
        assert page["entries"] or not more
    return entries


def test_journal_gives_back_what_was_appended_after_a_kill(daemon, client):
    texts = ["one", "", '{"a": NaN, "b": "caf\u00e9 \\n"}', "x" * 900000, "y" * 900000]
    for text in texts:
        assert client.call("journal.append", journal="a", entries=[text]) == {"appended": 1}
    client.call("journal.append", journal="b", entries=["other"] * 1000)
    client = daemon.again()
    assert read(client, "a") == texts and read(client, "a", 3) == texts[3:] and read(client, "a", 5) == []
    assert len(read(client, "b")) == 1000 and read(client, "nobody's") == []
    client.call("journal.append", journal="a", entries=["z"])
    assert read(client, "a", 5) == ["z"]


def test_journal_counts_for_the_quota_and_makes_room_when_it_is_deleted(start):
    daemon = start("cpu:1", "--quota", "30M")
    client, taken = daemon.client(), 0
    with pytest.raises(RpcError) as full:
        while taken < 60:
            client.call("journal.append", journal="a", entries=["x" * 900000])
            taken += 1
    assert (full.value.code, 20 < taken < 40) == (DISK_FULL, True), taken
    assert "no trial begins; sweep rm makes room, as does journal.delete" in full.value.message
    assert len(read(client, "a")) == taken, "what was taken is kept"
    assert client.call("journal.delete", journal="a") == {"journal": "a"}
    assert client.call("journal.delete", journal="nobody's") == {"journal": "nobody's"}
    assert read(client, "a") == []
    wait_until(lambda: appended(client, "a"), "room for a new journal of that name")
    assert read(client, "a") == ["new"]


def appended(client, journal):
    try:
        return client.call("journal.append", journal=journal, entries=["new"])
    except RpcError:
        return None
