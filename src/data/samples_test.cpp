#include "data/samples.h"

#include <gtest/gtest.h>

#include "data/npy_test_files.h"

namespace plimsoll {
namespace {

using namespace std::string_literals;

TEST(OpenSamples, AFileIsRecognisedByItsFirstBytesNotItsName) {
  const TestFolder folder;
  const std::string path =
      folder.Put("data.txt", Zip({{"x.npy", Npy<int32_t>({1, 2}, "(1, 2)")}, {"y.npy", Npy<int32_t>({1}, "(1,)")}}));
  EXPECT_TRUE(OpenSamples({.source = path, .targets = "", .lengths = ""}).ok());
}

TEST(OpenSamples, WhatCannotBeReadIsNamedBesideWhatCan) {
  const TestFolder folder;
  const std::vector<std::pair<std::string, std::string>> files = {
      {"\x1f\x8b\x08\x00"s, "text"},     {"\x28\xb5\x2f\xfd..."s, "text"},
      {"\x89HDF\r\n"s, "HDF5"},          {"PAR1...."s, "Parquet"},
      {"\x80\x04\x95"s, "pickle"},       {"text,label\ngood,1\n"s, "text"},
      {"\x01\x02\x03"s, "unknown kind"}, {""s, "empty"}};
  for (const auto& [bytes, what] : files) {
    const Status status = OpenSamples({.source = folder.Put("data.npz", bytes), .targets = "", .lengths = ""}).status();
    EXPECT_EQ(status.exit_code(), 3);
    EXPECT_NE(status.message().find("data.npz"), std::string::npos);
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(".npy and .npz"), std::string::npos) << status.message();
  }
}

TEST(OpenSamples, RequestsWithoutAMeaningAreUsage) {
  const TestFolder folder;
  const std::string npz =
      folder.Put("d.npz", Zip({{"x.npy", Npy<int32_t>({1, 2}, "(1, 2)")}, {"y.npy", Npy<int32_t>({1}, "(1,)")}}));
  EXPECT_EQ(OpenSamples({.source = "", .targets = "", .lengths = ""}).status().exit_code(), 2);
  EXPECT_EQ(OpenSamples({.source = npz, .targets = "y.npy", .lengths = ""}).status().exit_code(), 2);
  EXPECT_EQ(OpenSamples({.source = "generate:parity", .targets = "y.npy", .lengths = ""}).status().exit_code(), 2);
  EXPECT_TRUE(OpenSamples({.source = "generate:parity", .targets = "", .lengths = ""}).ok());
  EXPECT_EQ(OpenSamples({.source = "/missing.npz", .targets = "", .lengths = ""}).status().exit_code(), 3);
}

}  // namespace
}  // namespace plimsoll
