#include "train/vector_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "model/weights.h"
#include "plimsoll/trainer.h"
#include "train/setup.h"
#include "train/update.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

class VectorFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "plimsoll_vectors_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::trunc) << content;
    return (folder_ / name).string();
  }
  // A table of `rows` by `columns` with a stride of 8; what it holds behind each row must stay.
  Status Read(const std::string& path, int64_t rows, int64_t columns, size_t buffer_bytes = 256) {
    packed_.assign(static_cast<size_t>(rows * 8), -7.0f);
    std::vector<char> buffer(buffer_bytes);
    const WeightTensor table{.name = "weight", .rows = rows, .columns = columns, .stride = 8, .rows_are_inputs = true};
    return ReadVectors(path, table, packed_.data(), buffer);
  }
  // The message behind the folder's name.
  std::string Refusal(const std::string& content, int64_t rows, int64_t columns, const char* name = "v.txt") {
    const Status status = Read(Write(name, content), rows, columns);
    if (status.ok()) return "accepted";
    EXPECT_EQ(status.kind(), StatusKind::Data);
    return status.message().substr(status.message().find(name));
  }
  fs::path folder_;
  std::vector<float> packed_;
};

std::string Npy(const std::string& type, const std::string& shape, const std::vector<float>& values) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header.resize((10 + header.size() + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return file;
}

TEST_F(VectorFile, TextGoesToItsRowsAndNowhereElse) {
  const std::string plain = "the 0.5 -1.25 3e-2\nof 1 2 3\n\n, +4\t5 6.5 \r\n";
  for (const std::string& content : std::vector<std::string>{plain, "3 3\n" + plain, plain.substr(0, plain.size() - 3),
                                                             "0 0.5 -1.25 3e-2\n1 1 2 3\n2 4 5 6.5"}) {
    ASSERT_TRUE(Read(Write("v.txt", content), 3, 3).ok()) << content;
    const float wanted[] = {0.5f, -1.25f, 3e-2f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.5f};
    for (size_t row = 0; row < 3; ++row) {
      for (size_t column = 0; column < 8; ++column) {
        EXPECT_EQ(packed_[row * 8 + column], column < 3 ? wanted[row * 3 + column] : -7.0f) << content << row << column;
      }
    }
  }
}

TEST_F(VectorFile, AnyBufferThatHoldsAWordGivesTheSame) {
  std::string content = "50 4\n";
  for (int row = 0; row < 50; ++row) content += fmt::format("word{} {} {} {} {}\n", row, row, row * 0.5, -row, row * 1e-3);
  const std::string path = Write("v.txt", content);
  ASSERT_TRUE(Read(path, 50, 4, 65536).ok());
  const std::vector<float> wanted = packed_;
  EXPECT_EQ(wanted[49 * 8 + 1], 24.5f);
  for (const size_t bytes : {size_t{24}, size_t{25}, size_t{31}, size_t{64}, size_t{100}}) {
    ASSERT_TRUE(Read(path, 50, 4, bytes).ok()) << bytes;
    EXPECT_EQ(packed_, wanted) << bytes;
  }
  EXPECT_FALSE(Read(path, 50, 4, 5).ok());
}

TEST_F(VectorFile, ATableOfOneColumnTakesAHeaderOnlyWhereItFits) {
  ASSERT_TRUE(Read(Write("v.txt", "2 1\na 5\nb 6\n"), 2, 1).ok());
  EXPECT_EQ(packed_[0], 5.0f);
  ASSERT_TRUE(Read(Write("v.txt", "7 4\n8 3\n"), 2, 1).ok());
  EXPECT_EQ(packed_[0], 4.0f);
  EXPECT_EQ(packed_[8], 3.0f);
}

TEST_F(VectorFile, SaysWhichLineIsWrong) {
  EXPECT_EQ(Refusal("a 1 2\nb 1\n", 2, 2), "v.txt:2: 1 numbers, but output_dim = 2");
  EXPECT_EQ(Refusal("a 1\nb 1 2\n", 2, 2), "v.txt:1: 1 numbers, but output_dim = 2");
  EXPECT_EQ(Refusal("a 1 2\nb 1 2 3\n", 2, 2), "v.txt:2: more numbers than output_dim = 2");
  EXPECT_EQ(Refusal("a 1 2\n\nb 1 x2\n", 2, 2), "v.txt:3: \"x2\" is no number of a vector");
  EXPECT_EQ(Refusal("a 1 2\nb nan 2\n", 2, 2), "v.txt:2: number 1 is not finite");
  EXPECT_EQ(Refusal("a 1 2\nb 1 inf\n", 2, 2), "v.txt:2: number 2 is not finite");
  EXPECT_EQ(Refusal("a 1 2\nb 1 2\nc 1 2\n", 2, 2), "v.txt:3: more vectors than the 2 ids of the table");
  EXPECT_EQ(Refusal("a 1 2\n", 2, 2), "v.txt: 1 vectors, but the table has 2 ids");
  EXPECT_EQ(Refusal("", 2, 2), "v.txt: 0 vectors, but the table has 2 ids");
  EXPECT_EQ(Refusal("3 2\na 1 2\n", 2, 2), "v.txt:1: 3 vectors of 2 numbers, but the table is 2 of 2");
  EXPECT_EQ(Refusal("a\n", 2, 2), "v.txt:1: 0 numbers, but output_dim = 2");
}

TEST_F(VectorFile, AnArrayIsFloat32OfTheTablesShape) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(Read(Write("v.npy", Npy("<f4", "(2, 3)", values)), 2, 3).ok());
  EXPECT_EQ(packed_[2], 3.0f);
  EXPECT_EQ(packed_[3], -7.0f);
  EXPECT_EQ(packed_[8], 4.0f);
  EXPECT_EQ(Refusal(Npy("<f4", "(3, 2)", values), 2, 3, "v.npy"), "v.npy: float32 of shape (3, 2), wanted float32 of (2, 3)");
  EXPECT_EQ(Refusal(Npy("<i4", "(2, 3)", values), 2, 3, "v.npy"), "v.npy: int32 of shape (2, 3), wanted float32 of (2, 3)");
  std::vector<float> bad = values;
  bad[4] = INFINITY;
  EXPECT_EQ(Refusal(Npy("<f4", "(2, 3)", bad), 2, 3, "v.npy"), "v.npy: row 1 holds a value that is not finite");
}

// A table that a Dense is tied to lies in panels.
TEST_F(VectorFile, TextAndArraysGoIntoPanelsToo) {
  std::string text;
  std::vector<float> values;
  for (int row = 0; row < 40; ++row) {
    text += fmt::format("word {} {} {}\n", row, row + 0.5, -row);
    for (const double value : {1.0 * row, row + 0.5, -1.0 * row}) values.push_back(static_cast<float>(value));
  }
  const WeightTensor table{.name = "weight", .rows = 40, .columns = 3, .order = WeightTensor::Order::Panels};
  for (const std::string& path : {Write("v.txt", text), Write("v.npy", Npy("<f4", "(40, 3)", values))}) {
    for (const size_t bytes : {24, 256}) {  // less and more than a row
      std::vector<float> packed(2 * 32 * 3);
      std::vector<char> buffer(bytes);
      ASSERT_TRUE(ReadVectors(path, table, packed.data(), buffer).ok()) << path;
      EXPECT_EQ(packed[32 + 1], 1.5f);
      std::vector<float> got(values.size());
      GatherWeights(got.data(), packed.data(), table, 0, 120);
      EXPECT_EQ(got, values) << path;
    }
  }
}

// Only what learns moves: the vectors of a table that does not are in the saved model, bit for bit.
TEST_F(VectorFile, AModelBeginsWithTheVectorsAndKeepsThemWhereItsTableStays) {
  Write("v.txt", "zero 0.25 -0.5 0.75\none 1.5 0.125 -2\n");
  const std::vector<float> vectors = {0.25f, -0.5f, 0.75f, 1.5f, 0.125f, -2.0f};
  for (const bool trainable : {false, true}) {
    Job job;
    job.data.train = "generate:parity?steps=9&samples=8";
    job.layers = {{"", EmbeddingOptions{.output_dim = 3, .weights = (folder_ / "v.txt").string()}},
                  {"", LSTMOptions{.units = 5}},
                  {"", DenseOptions{}}};
    job.layers.front().trainable = trainable;
    job.memory.budget = "1GB";
    Result<std::unique_ptr<plimsoll::Setup>> setup = plimsoll::SetUp(job, {});
    ASSERT_TRUE(setup.ok()) << setup.status().message();
    Result<std::unique_ptr<Engine>> engine = Open(**setup);
    ASSERT_TRUE(engine.ok());
    Update update(**setup, **engine);
    const Status started = update.Start();
    ASSERT_TRUE(started.ok()) << started.message();
    const WeightPlace place = WeightPlaces(*(*setup)->network).front();
    std::vector<float> now(6);
    const auto gather = [&] { GatherWeights(now.data(), (*engine)->memory.layer(0).F32(kWeights), place.tensor, 0, 6); };
    gather();
    EXPECT_EQ(now, vectors);
    const int64_t numbers[] = {0, 1, 2};
    StepSums sums;
    ASSERT_TRUE(update.Gradients(numbers, 3, sums).ok());
    ASSERT_TRUE(update.Apply().ok());
    gather();
    EXPECT_EQ(now == vectors, !trainable);
  }
}

}  // namespace
}  // namespace plimsoll
