#include "data/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/npy_test_files.h"

namespace plimsoll {
namespace {

class NpyTest : public testing::Test {
 protected:
  Result<NpyArray> Read(std::string_view bytes) const {
    const std::string path = folder_.Put("a.npy", bytes);
    auto file = File::OpenRead(path);
    if (!file.ok()) return file.status();
    NpyPlace place{.file = std::make_shared<const File>(std::move(*file)), .name = path, .begin = 0, .bytes = 0};
    place.bytes = place.file->size();
    return ReadNpyHeader(place);
  }
  void ExpectRefused(std::string_view bytes, std::string_view because) const {
    const auto array = Read(bytes);
    ASSERT_FALSE(array.ok()) << because;
    EXPECT_EQ(array.status().exit_code(), 3);
    EXPECT_NE(array.status().message().find("a.npy"), std::string::npos) << array.status().message();
    EXPECT_NE((array.status().message() + array.status().hint()).find(because), std::string::npos)
        << array.status().message() << " | " << array.status().hint();
  }
  template <typename T>
  void ExpectNumbers(const std::vector<T>& values) const {
    const auto array = Read(Npy<T>(values, fmt::format("({},)", values.size())));
    ASSERT_TRUE(array.ok()) << array.status().message();
    std::vector<float> floats(values.size() - 1);
    ASSERT_TRUE(ReadAsFloat(array.value(), 1, static_cast<int64_t>(floats.size()), floats.data()).ok());
    for (size_t i = 0; i < floats.size(); ++i) ASSERT_EQ(floats[i], static_cast<float>(values[i + 1])) << i;
    std::vector<int32_t> indices(values.size());
    ASSERT_EQ(ReadAsIndex(array.value(), 0, array.value().elements, indices.data()).value(), array.value().elements);
    for (size_t i = 0; i < indices.size(); ++i) ASSERT_EQ(indices[i], static_cast<int32_t>(values[i])) << i;
  }
  TestFolder folder_;
};

TEST_F(NpyTest, TypeShapeAndPlaceOfTheDataAreFound) {
  for (const int version : {1, 2, 3}) {
    const auto array = Read(Npy<float>({1, 2, 3, 4, 5, 6}, "(3, 2)", version));
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array.value().type, NpyType::F4);
    EXPECT_EQ(array.value().shape, (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(array.value().elements, 6);
    EXPECT_EQ(array.value().offset % 64, 0);
  }
}

TEST_F(NpyTest, HeadersOfOtherWritersAreRead) {
  const std::string data(24, '\0');
  for (const char* header : {"{'shape':(3,2),'fortran_order':False,'descr':'<f4'}",
                             "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (3L, 2L)}",
                             " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 3 , 2 , ) , } "}) {
    EXPECT_TRUE(Read(NpyWithHeader(header, data)).ok()) << header;
  }
  EXPECT_EQ(Read(NpyWithHeader(NpyHeader("<f4", "()"), std::string(4, '\0'))).value().elements, 1);
  EXPECT_TRUE(Read(NpyWithHeader(NpyHeader("<f4", "(6,)", /*fortran=*/true), data)).ok()) << "one dimension has no order";
}

TEST_F(NpyTest, EveryTypeBecomesFloatAndIndex) {
  std::vector<int> numbers(20000);  // more than one piece
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i % 127);
  const auto as = [&]<typename T>(T) { return std::vector<T>(numbers.begin(), numbers.end()); };
  ExpectNumbers(as(float{}));
  ExpectNumbers(as(double{}));
  ExpectNumbers(as(int8_t{}));
  ExpectNumbers(as(int16_t{}));
  ExpectNumbers(as(int32_t{}));
  ExpectNumbers(as(int64_t{}));
  ExpectNumbers(as(uint8_t{}));
  ExpectNumbers(as(uint16_t{}));
  ExpectNumbers(as(uint32_t{}));
  ExpectNumbers(as(uint64_t{}));
  ExpectNumbers(std::vector<bool>{true, false, true});
}

TEST_F(NpyTest, AnIndexOutOfRangeStopsTheConversionAtItsPlace) {
  const auto converted = [&](const std::string& bytes) {
    const auto array = Read(bytes);
    int32_t out[3];
    return ReadAsIndex(array.value(), 0, 3, out).value();
  };
  EXPECT_EQ(converted(Npy<int64_t>({1, 2147483647, 5}, "(3,)")), 3) << "the largest one that fits";
  EXPECT_EQ(converted(Npy<int64_t>({1, 2147483648, 5}, "(3,)")), 1);
  EXPECT_EQ(converted(Npy<int64_t>({1, INT64_MIN, 5}, "(3,)")), 1);
  EXPECT_EQ(converted(Npy<int32_t>({1, 2, -1}, "(3,)")), 2);
  EXPECT_EQ(converted(Npy<int8_t>({-1, 2, 1}, "(3,)")), 0);
  EXPECT_EQ(converted(Npy<uint32_t>({1, 2, UINT32_MAX}, "(3,)")), 2);
  EXPECT_EQ(converted(Npy<uint64_t>({1, 2, UINT64_MAX}, "(3,)")), 2);
  EXPECT_EQ(converted(Npy<float>({1, 1.5f, 1}, "(3,)")), 1);
  EXPECT_EQ(converted(Npy<float>({1, 1, 0x1p31f}, "(3,)")), 2);
  EXPECT_EQ(converted(Npy<double>({std::nan(""), 1, 1}, "(3,)")), 0);
  EXPECT_EQ(converted(Npy<double>({1, std::numeric_limits<double>::infinity(), 1}, "(3,)")), 1);
}

TEST_F(NpyTest, ADoubleBeyondFloatBecomesInfiniteAndIsNotUndefined) {
  const auto array = Read(Npy<double>({1e300, -1e300, 1e38}, "(3,)"));
  float out[3];
  ASSERT_TRUE(ReadAsFloat(array.value(), 0, 3, out).ok());
  EXPECT_TRUE(std::isinf(out[0]) && std::isinf(out[1]) && std::isfinite(out[2]));
}

TEST_F(NpyTest, AFileCutAtAnyByteIsRefusedAndTheWholeOneIsNot) {
  for (const int version : {1, 2}) {
    const std::string whole = Npy<float>({1, 2, 3, 4}, "(2, 2)", version);
    EXPECT_TRUE(Read(whole).ok());
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) ExpectRefused(whole.substr(0, bytes), "");
    ExpectRefused(whole + "x", "bytes of data");
  }
}

TEST_F(NpyTest, AnyFlippedByteOfTheHeaderIsReadOrRefusedButNeverACrash) {
  const std::string whole = Npy<float>({1, 2, 3, 4}, "(2, 2)");
  for (size_t place = 0; place < 128; ++place) {
    for (const int value : {0, 0x27, 0x39, 0xff}) {
      std::string bytes = whole;
      bytes[place] = static_cast<char>(value);
      const auto array = Read(bytes);
      if (!array.ok()) {
        EXPECT_EQ(array.status().exit_code(), 3);
      } else {
        EXPECT_EQ(array.value().elements * NpyTypeBytes(array.value().type), 16);
      }
    }
  }
}

TEST_F(NpyTest, ShapesThatWrapAroundAreRefused) {
  const std::string data(16, '\0');
  EXPECT_TRUE(Read(NpyWithHeader(NpyHeader("<f4", "(2, 2)"), data)).ok());
  ExpectRefused(NpyWithHeader(NpyHeader("<f4", "(4194305, 4194305, 211106198978564)"), data), "");
  ExpectRefused(NpyWithHeader(NpyHeader("<f4", "(1099511627776, 1099511627776, 4)"), data), "more elements than any file");
  ExpectRefused(NpyWithHeader(NpyHeader("<f8", "(1099511627776, 2097152)"), data), "more elements than any file");
  for (const char* dimension :
       {"2147483648", "9223372036854775808", "18446744073709551615", "18446744073709551616", "-1", "1099511627777"}) {
    ExpectRefused(NpyWithHeader(NpyHeader("<f4", fmt::format("({},)", dimension)), data), "");
  }
  ExpectRefused(NpyWithHeader(NpyHeader("<f4", "(0,)"), data), "needs 0 bytes");
  ExpectRefused(NpyWithHeader(NpyHeader("<f4", "(1,1,1,1,1,1,1,1,4)"), data), "dimensions");
}

TEST_F(NpyTest, ATinyFileCannotAskForAHugeHeader) {
  const std::string start = std::string("\x93NUMPY\2", 7) + '\0';
  for (const uint64_t length : {0xFFFFFFFFull, 0x80000000ull, 1ull << 20, 1ull}) {
    ExpectRefused(start + LittleEndian(length, 4), "header length");
  }
  ExpectRefused(start + LittleEndian((1 << 20) + 1, 4) + std::string((1 << 20) + 1, ' '), "at most 1048576");
}

TEST_F(NpyTest, ObjectsAreRefusedAsPickle) { ExpectRefused(NpyWithHeader(NpyHeader("|O", "(1,)"), "\x80\x04N."), "pickle"); }

TEST_F(NpyTest, WhatIsNotReadIsNamedWithAWayOut) {
  const std::string data(16, '\0');
  ExpectRefused(NpyWithHeader(NpyHeader(">f4", "(2, 2)"), data), "big-endian");
  ExpectRefused(NpyWithHeader(NpyHeader("<f4", "(2, 2)", /*fortran=*/true), data), "np.ascontiguousarray");
  ExpectRefused(NpyWithHeader(NpyHeader("<f2", "(8,)"), data), "'<f2'");
  ExpectRefused(NpyWithHeader(NpyHeader("<c8", "(2,)"), data), "'<c8'");
  ExpectRefused(NpyWithHeader(NpyHeader("|f4", "(4,)"), data), "'|f4'");
  ExpectRefused(NpyWithHeader("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", data), "named fields");
}

TEST_F(NpyTest, HeadersOutsideTheGrammarAreRefused) {
  const std::string data(16, '\0');
  for (const char* header :
       {"", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2+2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [4]}", "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (4,)}",
        "{'descr': __import__('os'), 'fortran_order': False, 'shape': (4,)}", "{'descr': '<f4"}) {
    ExpectRefused(NpyWithHeader(header, data), "");
  }
  ExpectRefused(NpyWithHeader("{" + std::string(5000, '{'), data), "");
  std::string wrong_magic = Npy<float>({1}, "(1,)");
  wrong_magic[0] = 'N';
  ExpectRefused(wrong_magic, "not a .npy");
  std::string wrong_version = Npy<float>({1}, "(1,)");
  wrong_version[6] = 9;
  ExpectRefused(wrong_version, "version 9");
}

}  // namespace
}  // namespace plimsoll
