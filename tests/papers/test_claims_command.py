import json
import re

import pytest

from fwexp.cli import main
from fwexp.commands.claims import USAGE, changes, line
from fwexp.commands.claims import main as claims_command
from fwexp.errors import OptionError, ParameterError
from fwexp.files import owned
from fwexp.papers.claims import VERDICTS, of_paper
from fwexp.papers.claims.registry import frozen
from fwexp.papers.claims.verdict_records import check_all, claims_path, read, save, summary
from fwexp.papers.declarations import Paper
from tests.pages import ROOT
from tools import freeze


def records(**verdicts):
    facts = {
        "paper": "B13",
        "statement": "It is so.",
        "place": f'section 6: "{"it is so " * 20}"',
        "why": "",
        "stand_ins": {},
        "confirmation": {},
    }
    return {id.replace("_", "-"): {"id": id.replace("_", "-"), "verdict": verdict, **facts} for id, verdict in verdicts.items()}


def test_verdicts_are_printed_and_kept(tmp_path, capsys):
    assert main(["claims", "R", f"results_dir={tmp_path}"]) == 0
    out = capsys.readouterr().out
    assert "R-1     undecided" in out
    assert all(f"{verdict} " in USAGE and meaning in USAGE for verdict, meaning in VERDICTS.items())
    assert "runs are not stored" in out
    assert "18 claims: 3 hold, 4 in part; 9 undecided, 2 list misprints" in out
    stored = json.loads(claims_path(tmp_path, "R").read_text())
    assert list(stored) == list(of_paper("review"))
    assert {"statement", "place", "criterion", "sensitivity", "verdict", "why", "numbers", "runs", "figure", "missing"} <= set(
        stored["R-1"]
    )


def test_the_page_on_claims_defines_the_verdicts():
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    assert [verdict for verdict, meaning in VERDICTS.items() if f"| {verdict} | {meaning} |" not in page] == []


def test_freezing_notes_each_criterion_and_names_those_that_changed(tmp_path, monkeypatch, capsys):
    path = tmp_path / "criteria.json"
    monkeypatch.setattr(freeze, "PATH", path)
    monkeypatch.setattr(freeze, "frozen", lambda: frozen() | {"B13-1": "other"})
    assert freeze.main() == 0
    assert json.loads(path.read_text()) == {id: claim.digest for id, claim in of_paper().items()}
    assert capsys.readouterr().err == "B13-1: changed\n"


def test_runs_that_confirm_are_only_made_with_others(tmp_path):
    with pytest.raises(OptionError, match="fwexp claims takes --confirm only with --run"):
        claims_command(["L-4", "--confirm", f"results_dir={tmp_path}"])


def test_two_commands_at_once_keep_the_verdicts_of_both(tmp_path, monkeypatch):
    """The second command saves after the first one began to save, and before it has the folder for itself."""
    check, others = owned._check_files, [records(L_2="holds"), records(L_3="holds")]

    def check_late(*arguments):
        if others:
            save({id: record | {"paper": "L"} for id, record in others.pop().items()}, tmp_path)
        return check(*arguments)

    monkeypatch.setattr(owned, "_check_files", check_late)
    save({id: record | {"paper": "L"} for id, record in records(L_1="holds").items()}, tmp_path)
    assert list(read(claims_path(tmp_path, "L"))) == ["L-1", "L-2", "L-3"]


@pytest.mark.usefixtures("computed_as_published")
def test_strict_tells_a_change_and_nothing_else(tmp_path, capsys):
    published = tmp_path / "published"
    save(check_all(of_paper("L"), tmp_path), published)
    arguments = ["claims", "L", "--strict", f"results_dir={tmp_path}", f"published={published}"]
    assert main(arguments) == 0
    path = claims_path(published, "L")
    path.write_text(path.read_text().replace('"verdict": "undecided"', '"verdict": "holds"', 1))
    assert main(arguments) == 1
    assert "L-3: holds is published, now it is undecided" in capsys.readouterr().out


def test_the_first_line_tells_verdict_and_place_and_the_others_the_claim_and_the_reason():
    (record,) = records(B13_1="in part").values()
    first, *others = line(record | {"why": "is not reached within these runs: that"}).splitlines()
    assert re.fullmatch(r'B13-1   in part              section 6: "it is so [^"]* \.\.\.', first)
    assert len(first) <= 110
    assert [other.strip() for other in others] == ["It is so.", "- is not reached within these runs: that"]
    text = line(record | {"stand_ins": {"lower, synthetic": False}})
    assert text.splitlines()[-1].strip() == "- on stand-ins, does not hold: lower, synthetic"
    found = records(B13_1="undecided", B13_2="fails", B13_3="lists misprints", B13_4="holds", B13_5="mostly contradicted")
    assert summary(found) == "5 claims: 1 holds, 1 mostly contradicted, 1 fails; 1 undecided, 1 lists misprints"
    added = changes(records(B13_1="holds", B13_2="fails"), records(B13_1="holds"))
    assert added == ["B13-2: not published is published, now it is fails"]


def test_a_paper_without_claims_is_one_line(monkeypatch):
    notes = Paper(id="N", name="notes", title="My notes")
    monkeypatch.setattr("fwexp.papers.claims.registry.PAPERS", {"notes": notes})
    monkeypatch.setattr("fwexp.papers.claims.registry.all_claims", dict)
    with pytest.raises(ParameterError, match="paper 'notes' must have claims, got none with an id such as N-1"):
        of_paper("notes")
