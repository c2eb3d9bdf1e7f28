#include "report/event_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace plimsoll {
namespace {

// As TensorBoard masks it.
uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

uint64_t Number(std::string_view bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

TEST(EventFile, ChecksumsAreMaskedCrc32c) {
  EXPECT_EQ(MaskedCrc32c("123456789"), Masked(0xe3069283u));  // the check value of the CRC's definition
  EXPECT_EQ(MaskedCrc32c(std::string(32, '\0')), Masked(0x8a9136aau));
}

TEST(EventFile, ARecordIsLengthChecksumEventChecksum) {
  EventRecord record;
  const std::string bytes(record.Version(1.5));
  const uint64_t length = Number(bytes.substr(0, 8));
  ASSERT_EQ(bytes.size(), 8 + 4 + length + 4);
  EXPECT_EQ(Number(bytes.substr(8, 4)), MaskedCrc32c(bytes.substr(0, 8)));
  EXPECT_EQ(Number(bytes.substr(12 + length)), MaskedCrc32c(bytes.substr(12, length)));
  EXPECT_EQ(bytes.substr(12, length), std::string("\x09\0\0\0\0\0\0\xf8\x3f\x1a\x0d", 11) + "brain.Event:2");
}

TEST(EventFile, AScalarIsAValueOfTheSummary) {
  EventRecord record;
  record.Start();
  record.Scalar("a", "b", 1.0);
  const std::string bytes(record.Finish(0.0, 300));
  EXPECT_EQ(bytes.substr(12, bytes.size() - 16), std::string("\x09\0\0\0\0\0\0\0\0"  // wall time
                                                             "\x10\xac\x02"          // step 300
                                                             "\x2a\x0c\x0a\x0a"      // summary, value
                                                             "\x0a\x03"
                                                             "a/b"
                                                             "\x15\0\0\x80\x3f",
                                                             26));
}

TEST(EventFile, WhatDoesNotFitIsLeftOut) {
  EventRecord record;
  record.Start();
  record.Scalar("long", std::string(200, 'x'), 1.0);
  for (int i = 0; i < 1000; ++i) record.Scalar("memory", "resident", 1.0);
  const std::string bytes(record.Finish(0.0, 1));
  EXPECT_LT(bytes.size(), 1664u);
  EXPECT_EQ(bytes.find("xxx"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll
