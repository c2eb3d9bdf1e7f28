#include "formats/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace plimsoll {
namespace {

class Safetensors : public testing::Test {
 protected:
  Safetensors() {
    std::string pattern = testing::TempDir() + "plimsoll_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Safetensors() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& header, size_t data_bytes) const {
    std::string bytes(8, '\0');
    const uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, 8);
    return WriteRaw(bytes + header + std::string(data_bytes, '\1'));
  }
  std::string WriteRaw(const std::string& bytes) const {
    std::ofstream(folder_ + "/file", std::ios::binary) << bytes;
    return folder_ + "/file";
  }
  static void ExpectRefused(const std::string& path, const std::string& fragment) {
    const Result<SafetensorsFile> file = SafetensorsFile::Open(path);
    ASSERT_FALSE(file.ok()) << fragment;
    EXPECT_EQ(file.status().kind(), StatusKind::Data);
    EXPECT_NE(file.status().message().find(path), std::string::npos) << file.status().message();
    EXPECT_NE(file.status().message().find(fragment), std::string::npos) << file.status().message();
  }
  std::string folder_;
};

constexpr const char* kGood =
    R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"F32","shape":[],"data_offsets":[24,28]}})";

TEST_F(Safetensors, WhatIsWrittenIsReadBack) {
  std::vector<std::byte> buffer(64);  // eight floats at a time
  const std::string path = folder_ + "/model.safetensors";
  const Status written = WriteSafetensors(path, {{"one", {5, 7}}, {"two", {3}}}, {{"format", "test"}}, buffer,
                                          [](size_t tensor, int64_t first, int64_t count, float* out) {
                                            for (int64_t i = 0; i < count; ++i)
                                              out[i] = static_cast<float>(100 * tensor) + static_cast<float>(first + i);
                                          });
  ASSERT_TRUE(written.ok()) << written.message();
  const Result<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_NE(file.value().Find("one"), nullptr);
  EXPECT_EQ(file.value().Find("one")->shape, (std::vector<int64_t>{5, 7}));
  EXPECT_EQ(file.value().Find("three"), nullptr);
  float values[3];
  ASSERT_TRUE(file.value().Read(*file.value().Find("two"), 0, 3, values).ok());
  EXPECT_EQ(values[2], 102.0f);
}

TEST_F(Safetensors, AGoodFileOpensAndEveryTruncationOfItIsRefused) {
  const std::string path = Write(kGood, 28);
  ASSERT_TRUE(SafetensorsFile::Open(path).ok());
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(SafetensorsFile::Open(WriteRaw(whole.substr(0, length))).status().kind(), StatusKind::Data) << length;
  }
}

TEST_F(Safetensors, HostileHeadersAreRefusedByName) {
  const auto tensor = [](const std::string& fields) { return fmt::format(R"({{"a":{{{}}}}})", fields); };
  ExpectRefused(Write(kGood, 29), "behind the last tensor");
  ExpectRefused(Write(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,9])"), 9), "disagree");
  ExpectRefused(Write(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8), "outside");
  ExpectRefused(Write(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,800])"), 8), "outside");
  ExpectRefused(Write(tensor(R"("dtype":"F32","shape":[4194305,4194305,211106198978564],"data_offsets":[0,16])"), 16),
                "dimension");
  ExpectRefused(Write(tensor(R"("dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,16])"), 16), "too large");
  ExpectRefused(Write(tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4), "dimension");
  ExpectRefused(Write(tensor(R"("dtype":"I64","shape":[1],"data_offsets":[0,8])"), 8), "F32");
  ExpectRefused(Write(tensor(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])"), 4), "8 dimensions");
  ExpectRefused(
      Write(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
            4),
      "overlaps");
  ExpectRefused(
      Write(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
            8),
      "twice");
  ExpectRefused(Write("[1]", 0), "JSON object");
  ExpectRefused(Write(std::string(200, '[') + std::string(200, ']'), 0), "JSON object");
  ExpectRefused(WriteRaw(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}"), "claims");
  ExpectRefused(WriteRaw(std::string(8, '\0')), "JSON object");
}

}  // namespace
}  // namespace plimsoll
