"""Eighteen questions about a folder of sixty documents, answered through the tools alone, as an agent would: calls and characters
for each, and whether every answer agrees with the table of truths.

    questions.py SHARED BINARY [BINARY ...]     (several binaries are compared side by side)

An agent asks the whole folder in one batch. Where that fails because a target is not one of every format, it asks again, format by
format. Of a server that has the compact view it takes that one.
"""

import datetime
import hashlib
import json
import pathlib
import subprocess
import sys

MIX = {
    "docx": 10, "docm": 2, "doc": 6, "xlsx": 10, "xlsm": 3, "xls": 6, "pptx": 8, "pptm": 1, "ppt": 5, "pdf": 9,
}  # fmt: skip

WORD, EXCEL, POWERPOINT, PDF = ("docx", "docm", "doc"), ("xlsx", "xlsm", "xls"), ("pptx", "pptm", "ppt"), ("pdf",)
OOXML = ("docx", "docm", "xlsx", "xlsm", "pptx", "pptm")
ALL = tuple(MIX)

# Question, targets, level, the formats that it is about.
# Connections and external links count as external references here (docs/differences.md); the table of truths counts only relationships.
COUNTED_ON_PURPOSE = (
    "oxsdk-pivot2.xlsx security.has_external_relationships",
    "oxsdk-relationalpivota2.xlsx security.has_external_relationships",
)

QUESTIONS = [
    ("Which have macros?", ["security.has_macros"], "deep", ALL[:-1]),
    ("How many pages, slides, sheets?", ["pdf.page_count", "powerpoint.slide_count", "excel.sheet_count"], "metadata",
     EXCEL + POWERPOINT + PDF),
    ("Which decks have hidden slides?", ["powerpoint.hidden_slide_count"], "deep", ("pptx", "pptm")),
    ("Which decks have notes?", ["powerpoint.notes_slide_count"], "metadata", POWERPOINT),
    ("Who wrote them?", ["document.author"], "metadata", ALL),
    ("Are they really what they are called?", ["document.format_profile"], "header", ALL),
    ("What are the sheets called?", ["excel.sheet_names"], "metadata", EXCEL),
    ("Which is the newest?", ["document.modified_utc"], "metadata", ALL),
    ("Which have scripts?", ["security.has_javascript"], "deep", PDF),
    ("Which need a password?", ["security.encrypted", "security.password_protected"], "metadata", ALL),
    ("Which have comments?", ["word.comment_part_count", "powerpoint.comment_part_count"], "metadata",
     ("docx", "docm", "pptx", "pptm")),
    ("What are their titles?", ["document.title"], "metadata", ALL),
    ("Which point outside?", ["security.has_external_relationships"], "deep", OOXML + PDF),
    ("Which have files in them?", ["security.has_embedded_files"], "deep", ALL),
    ("Which are signed?", ["security.signature_count"], "deep", OOXML + PDF),
    ("Which have hidden sheets?", ["excel.hidden_sheet_count"], "metadata", ("xlsx", "xlsm")),
    ("Which have charts?", ["excel.chart_part_count", "powerpoint.chart_part_count"], "metadata",
     ("xlsx", "xlsm", "pptx", "pptm")),
    ("Which are the same?", ["document.sha256"], "header", ALL),
]  # fmt: skip


class Server:
    """An MCP server on standard input and output, and what was asked and answered."""

    def __init__(self, binary):
        self.process = subprocess.Popen(
            [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.last = 0
        self.calls = self.characters = 0
        client = {"name": "questions", "version": "1"}
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = self.request("tools/list")["tools"]
        batch = next(tool for tool in tools if tool["name"] == "probe_batch")
        views = batch["inputSchema"]["properties"]["view"].get("enum", [])
        self.view = "table" if "table" in views else "values"

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, **params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.last:
                return message["result"]

    def batch(self, paths, targets, level):
        """What each document's targets are; `None` for a document that got an error."""
        arguments = {"paths": [str(path) for path in paths], "targets": targets, "level": level, "view": self.view}
        result = self.request("tools/call", name="probe_batch", arguments=arguments)
        self.calls += 1
        self.characters += sum(len(block.get("text", "")) for block in result["content"])
        answer = result["structuredContent"]
        return table(answer, paths) if self.view == "table" else records(answer, paths)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def records(answer, paths):
    found = answer.get("results") or answer.get("reports") or answer.get("records")
    assert found is not None and len(found) == len(paths), f"one record a document: {str(answer)[:300]}"
    values = []
    for record in found:
        record = record.get("result") or record.get("report") or record
        values.append(None if record.get("status") == "error" else record.get("values", {}))
    return values


def table(answer, paths):
    columns = answer["columns"]
    failed = {error.get("index", error.get("row")) for error in answer.get("errors", [])}
    rows = iter(answer["rows"])
    lifted = answer.get("same", {})
    values = []
    for index in range(len(paths)):
        row = next(rows, None) if len(answer["rows"]) == len(paths) or index not in failed else None
        known = row is not None and index not in failed
        values.append({**lifted, **dict(zip(columns, row))} if known else None)
    return values


def folder(shared):
    """The documents, the first of each format in the table of truths, and what is known of them."""
    left, documents = dict(MIX), []
    for line in (shared / "golden/truth.jsonl").read_text().splitlines():
        row = json.loads(line)
        kind = row["path"].split("/")[0]
        if row["facts"] and left.get(kind, 0) > 0:
            left[kind] -= 1
            path = shared / "corpus" / row["path"]
            facts = dict(row["facts"])
            facts.update(modified_utc(facts.get("document.modified_at")))
            facts["document.sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
            documents.append((kind, path, facts))
    assert not any(left.values()), f"the corpus has too few documents: {left}"
    return documents


def modified_utc(recorded):
    """The time in UTC, where the document records one with its zone."""
    try:
        moment = datetime.datetime.fromisoformat((recorded or "").replace("Z", "+00:00"))
    except ValueError:
        return {}
    if moment.tzinfo is None:
        return {}
    utc = moment.astimezone(datetime.timezone.utc)
    return {"document.modified_utc": utc.strftime("%Y-%m-%dT%H:%M:%SZ")}


def answer(server, documents, targets, level):
    found = server.batch([path for _, path, _ in documents], targets, level)
    if any(values is not None for values in found):
        return found
    found = []
    for kind in dict.fromkeys(kind for kind, _, _ in documents):
        group = [path for other, path, _ in documents if other == kind]
        own = [target for target in targets if target.startswith(("document.", "security.", family(kind)))]
        found += server.batch(group, own, level)
    return found


def family(kind):
    kinds = {"word.": WORD, "excel.": EXCEL, "powerpoint.": POWERPOINT, "pdf.": PDF}
    return next(name for name, members in kinds.items() if kind in members)


def compare(documents, found, targets):
    """How many known facts were found, and which were not."""
    agreed, missed = 0, []
    for (_, path, facts), values in zip(documents, found):
        for target in targets:
            if target not in facts:
                continue
            value = (values or {}).get(target)
            # An empty text and none are the same answer.
            if value == facts[target] or not value and facts[target] in (None, ""):
                agreed += 1
            else:
                missed.append(f"{path.name} {target}: {value!r} instead of {facts[target]!r}")
    return agreed, missed


def main():
    shared, *binaries = sys.argv[1:]
    documents = folder(pathlib.Path(shared).resolve())
    failed = False
    for binary in binaries:
        server = Server(binary)
        print(f"{binary}, {server.view} view\n{'':40} calls  characters  right")
        total, wrong = [0, 0], []
        for question, targets, level, formats in QUESTIONS:
            asked = [document for document in documents if document[0] in formats]
            server.calls = server.characters = 0
            found = answer(server, asked, targets, level)
            agreed, missed = compare(asked, found, targets)
            total = [total[0] + server.calls, total[1] + server.characters]
            wrong += missed
            print(f"{question:40} {server.calls:5}  {server.characters:10}  {agreed}/{agreed + len(missed)}")
        print(f"{'all':40} {total[0]:5}  {total[1]:10}")
        for line in wrong[:20]:
            print(f"  not right: {line}")
        if len(wrong) > 20:
            print(f"  and {len(wrong) - 20} more")
        server.close()
        # The last one is the one under test; those before it are for comparison.
        failed = any(not line.startswith(COUNTED_ON_PURPOSE) for line in wrong)
    sys.exit(failed)


main()
