#include "data/record_reader.h"

#include <gtest/gtest.h>

#include "data/npy_test_files.h"

namespace plimsoll {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Read {
  Rows rows;  // a list is its items with "|" between them; a missing value is "(none)"
  std::vector<int64_t> lines;
  std::vector<std::string> problems;
  Status status;
};

Read ReadAll(const std::string& path, const RecordRequest& request) {
  Read read;
  Result<std::unique_ptr<RecordReader>> reader = RecordReader::Open(path, request);
  if (!reader.ok()) return {.status = reader.status()};
  Record record;
  while (true) {
    const Result<bool> next = (*reader)->Next(record);
    if (!next.ok()) {
      read.status = next.status();
      return read;
    }
    if (!next.value()) return read;
    read.lines.push_back(record.line);
    if (!record.problem.empty()) {
      read.problems.push_back(record.problem);
      continue;
    }
    std::vector<std::string> row;
    for (const Field& field : record.fields) {
      std::string text(field.present ? std::string(field.text) : "(none)");
      for (size_t i = 0; field.list && i < field.count; ++i)
        text += (i > 0 ? "|" : "") + std::string(record.items[field.first + i]);
      row.push_back(text);
    }
    read.rows.push_back(std::move(row));
  }
}

TEST(RecordReader, ColumnsAreFoundByNameAndByNumber) {
  const TestFolder folder;
  const std::string path = folder.Put("a.tsv", "id\ttext\tlabel\n1\tgood film\tpos\n2\tbad\tneg\n");
  EXPECT_EQ(ReadAll(path, {.columns = {"label", "text"}}).rows, (Rows{{"pos", "good film"}, {"neg", "bad"}}));
  EXPECT_EQ(ReadAll(path, {.columns = {"3", "-1"}}).rows, (Rows{{"label", "label"}, {"pos", "pos"}, {"neg", "neg"}}))
      << "numbers alone: no header";
  EXPECT_EQ(ReadAll(path, {.columns = {"3"}, .header = true}).rows, (Rows{{"pos"}, {"neg"}}));
}

TEST(RecordReader, AColumnMayBeAskedForTwice) {
  const TestFolder folder;
  const RecordRequest request{.columns = {"a", "b", "a"}};
  EXPECT_EQ(ReadAll(folder.Put("a.csv", "a,b\n1,2\n"), request).rows, (Rows{{"1", "2", "1"}}));
  EXPECT_EQ(ReadAll(folder.Put("a.jsonl", R"({"b": 2, "a": [1, 3]})"), request).rows, (Rows{{"1|3", "2", "1|3"}}));
  const Read twice = ReadAll(folder.Put("b.jsonl", R"({"a": 1, "b": 2, "a": 1})"), request);
  ASSERT_EQ(twice.problems.size(), 1);
  EXPECT_NE(twice.problems[0].find("stands there twice"), std::string::npos) << twice.problems[0];
}

TEST(RecordReader, AMissingColumnIsToldWithTheNamesThatExist) {
  const TestFolder folder;
  const Status missing = ReadAll(folder.Put("a.csv", "text,label\nx,y\n"), {.columns = {"txt"}}).status;
  EXPECT_EQ(missing.kind(), StatusKind::Data);
  EXPECT_NE(missing.message().find("text, label"), std::string::npos) << missing.message();
  EXPECT_NE(missing.message().find("did you mean 'text'"), std::string::npos) << missing.message();
  EXPECT_NE(ReadAll(folder.Put("b.csv", "x,y\n"), {.columns = {"3"}}).status.message().find("has 2"), std::string::npos);
  const Read json = ReadAll(folder.Put("c.jsonl", R"({"text": "x", "stars": 3})"), {.columns = {"text", "label"}});
  ASSERT_EQ(json.problems.size(), 1u);
  EXPECT_NE(json.problems[0].find("text, stars"), std::string::npos) << json.problems[0];
}

TEST(RecordReader, QuotesOfCsvHoldCommasQuotesAndLineBreaks) {
  const TestFolder folder;
  const Read read = ReadAll(folder.Put("a.csv", "text,label\n\"a, \"\"b\"\"\nc\",1\r\n\"\",2\nplain,\"3\"\n"),
                            {.columns = {"text", "label"}});
  EXPECT_EQ(read.rows, (Rows{{"a, \"b\"\nc", "1"}, {"", "2"}, {"plain", "3"}}));
  EXPECT_EQ(read.lines, (std::vector<int64_t>{2, 4, 5})) << "lines of the file, not records";
}

TEST(RecordReader, TsvKnowsNoQuotes) {
  const TestFolder folder;
  EXPECT_EQ(ReadAll(folder.Put("a.tsv", "\"x\t1\n"), {.columns = {"1", "2"}}).rows, (Rows{{"\"x", "1"}}));
}

TEST(RecordReader, BadRecordsOfATableAreToldByLineAndDoNotEndIt) {
  const TestFolder folder;
  const Read read = ReadAll(folder.Put("a.csv", "a,b\n1\n\"x\"y,2\nq\"uo,2\n3,4\n5,6,7\n"), {.columns = {"a", "b"}});
  EXPECT_EQ(read.rows, (Rows{{"3", "4"}}));
  ASSERT_EQ(read.problems.size(), 4u);
  EXPECT_NE(read.problems[0].find("2: has 1 columns, wanted 2"), std::string::npos) << read.problems[0];
  EXPECT_EQ(read.problems[1].substr(0, 2), "3:");
  EXPECT_EQ(read.problems[2].substr(0, 2), "4:");
  EXPECT_EQ(read.problems[3].substr(0, 2), "6:");
}

TEST(RecordReader, AQuoteThatIsNeverClosedNamesTheLineWhereItWasOpened) {
  const TestFolder folder;
  std::string text = "a,b\n1,2\n3,\"open\n";
  for (int i = 0; i < 1000; ++i) text += "1,2\n";
  const Status status = ReadAll(folder.Put("a.csv", text), {.columns = {"a", "b"}}).status;
  EXPECT_EQ(status.kind(), StatusKind::Data);
  EXPECT_NE(status.message().find("a.csv:3:"), std::string::npos) << status.message();
}

TEST(RecordReader, JsonValuesBecomeTextsAndLists) {
  const TestFolder folder;
  const Read read =
      ReadAll(folder.Put("a.jsonl",
                         "{\"t\": \"a\\n\\\"\\u00e9\\ud83d\\ude00\", \"skip\": {\"x\": [1, {\"y\": \"]\"}]}, \"n\": -1.5e3}\n"
                         "\n{\"n\": null, \"t\": [\"x\", 2, true]}\n{\"t\": [[1,2],[3,4]], \"n\": []}\n"),
              {.columns = {"t", "n"}});
  EXPECT_EQ(read.problems, std::vector<std::string>{});
  EXPECT_EQ(read.rows, (Rows{{"a\n\"\xC3\xA9\xF0\x9F\x98\x80", "-1.5e3"}, {"x|2|true", "(none)"}, {"1|2|3|4", ""}}));
}

TEST(RecordReader, JsonThatIsNoneIsABadLineWithItsColumn) {
  const TestFolder folder;
  for (const char* bad :
       {"{", "{\"t\"}", "{\"t\": }", "{\"t\": \"x", "{\"t\": \"\\q\"}", "{\"t\": \"\\ud800\"}", "{\"t\": nan}", "{\"t\": 1} x",
        "[1]", "{\"t\": 1, \"t\": 2}", "{\"t\": [[1],[1,2]]}", "{\"t\": {}}", "{\"u\": [1}", "{\"t\": \"\\u12\"}", "x"}) {
    const Read read = ReadAll(folder.Put("a.jsonl", std::string(bad) + "\n{\"t\": 1}\n"), {.columns = {"t"}});
    EXPECT_EQ(read.problems.size(), 1u) << bad;
    EXPECT_EQ(read.rows, (Rows{{"1"}})) << bad;
  }
  const std::string deep = "{\"u\": " + std::string(100'000, '[') + "\n";
  EXPECT_EQ(ReadAll(folder.Put("deep.jsonl", deep), {.columns = {"t"}}).problems.size(), 1u);
}

TEST(RecordReader, EveryTruncationOfAJsonLineIsBadOrTheWholeLine) {
  const TestFolder folder;
  const std::string whole = R"({"t": "a\u00e9", "l": [1, "x"], "o": {"k": null}})";
  for (size_t bytes = 1; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(ReadAll(folder.Put("a.jsonl", whole.substr(0, bytes)), {.columns = {"t"}}).problems.size(), 1u) << bytes;
  }
}

TEST(RecordReader, AStepALineBecomesListsOfASequence) {
  const TestFolder folder;
  const Read read = ReadAll(folder.Put("a.conll", "-DOCSTART- O\n\nEU NNP B-ORG\nrejects VB O\n\n\nPeter NN B-PER"),
                            {.columns = {"1", "-1"}});
  EXPECT_EQ(read.rows, (Rows{{"EU|rejects", "B-ORG|O"}, {"Peter", "B-PER"}}));
  EXPECT_EQ(read.lines, (std::vector<int64_t>{3, 7}));
  const Read bad = ReadAll(folder.Put("b.conll", "a X\nb\n\nc Y\n"), {.columns = {"1", "2"}});
  ASSERT_EQ(bad.problems.size(), 1u);
  EXPECT_EQ(bad.problems[0].substr(0, 2), "2:");
  EXPECT_EQ(bad.rows, (Rows{{"c", "Y"}}));
}

TEST(RecordReader, TheFormatFollowsFromTheNameElseFromTheFirstLine) {
  const TestFolder folder;
  EXPECT_EQ(FormatOf(folder.Put("a.csv.gz", "x")).value(), DataFormat::Csv);
  EXPECT_EQ(FormatOf(folder.Put("a.jsonl.zst", "x")).value(), DataFormat::Jsonl);
  EXPECT_EQ(FormatOf(folder.Put("a", "{\"x\": 1}\n")).value(), DataFormat::Jsonl);
  EXPECT_EQ(FormatOf(folder.Put("b", "x\ty\n")).value(), DataFormat::Tsv);
  EXPECT_EQ(FormatOf(folder.Put("c", "x, y\n")).value(), DataFormat::Text);
}

}  // namespace
}  // namespace plimsoll
