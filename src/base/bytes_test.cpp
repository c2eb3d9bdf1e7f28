#include "base/bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll {
namespace {

TEST(ParseMemory, ReadsBytesAndEveryUnit) {
  struct Case {
    const char* text;
    int64_t bytes;
  };
  const std::vector<Case> cases = {
      {"268435456", 268435456},
      {"1", 1},
      {"12B", 12},
      {"256MB", 256'000'000},
      {"256 mb", 256'000'000},
      {" 256MB ", 256'000'000},
      {"512MiB", 512 * kMiB},
      {"1.5GB", 1'500'000'000},
      {"1.1GB", 1'100'000'000},
      {"0.1kB", 100},
      {"64kB", 64'000},
      {"64KB", 64'000},
      {"64KiB", 64 * kKiB},
      {"0.5KiB", 512},
      {"2GiB", 2048 * kMiB},
      {"1TB", 1'000'000'000'000},
      {"1TiB", 1024 * 1024 * kMiB},
      {"9223372036854775807", 9223372036854775807},
  };
  for (const Case& c : cases) {
    auto amount = ParseMemory(c.text);
    ASSERT_TRUE(amount.ok()) << c.text << ": " << amount.status().message();
    EXPECT_EQ(amount->kind, MemoryAmount::Kind::Bytes) << c.text;
    EXPECT_EQ(amount->bytes, c.bytes) << c.text;
  }
}

TEST(ParseMemory, ReadsSharesAndAuto) {
  auto share = ParseMemory("80%");
  ASSERT_TRUE(share.ok());
  EXPECT_EQ(share->kind, MemoryAmount::Kind::Percent);
  EXPECT_DOUBLE_EQ(share->percent, 80.0);
  EXPECT_DOUBLE_EQ(ParseMemory("12.5 %")->percent, 12.5);
  EXPECT_DOUBLE_EQ(ParseMemory("100%")->percent, 100.0);
  EXPECT_EQ(ParseMemory("auto")->kind, MemoryAmount::Kind::Auto);
  EXPECT_EQ(ParseMemory("AUTO")->kind, MemoryAmount::Kind::Auto);
}

TEST(ParseMemory, RefusesWithWhatWasGotAndWhatIsWanted) {
  const std::vector<std::string> refused = {"",           "0.0001kB",
                                            " ",          "0",
                                            "0MB",        "-1",
                                            "-5MB",       "12 parsecs",
                                            "200%",       "0%",
                                            "-10%",       "100.01%",
                                            "1.5",        "1.5B",
                                            "1.MB",       ".5GB",
                                            "MB",         "1e9",
                                            "12 34",      "1..5GB",
                                            "1,5GB",      "0x10",
                                            "256MBs",     "9223372036854775808",
                                            "10000000TB", "9999999999999999999999",
                                            "autos",      "256M",
                                            "1g",         "nan",
                                            "inf"};
  for (const std::string& text : refused) {
    auto amount = ParseMemory(text);
    ASSERT_FALSE(amount.ok()) << text;
    EXPECT_EQ(amount.status().kind(), StatusKind::Usage) << text;
    EXPECT_NE(amount.status().message().find("\"" + text + "\""), std::string::npos) << amount.status().message();
    EXPECT_NE(amount.status().message().find("wanted bytes, or an amount like 256MB"), std::string::npos);
  }
}

TEST(ParseMemory, OffersBothReadingsOfAUnitCutShort) {
  EXPECT_EQ(ParseMemory("256m").status().hint(), "256MB (powers of 1000) or 256MiB (powers of 1024)");
  EXPECT_EQ(ParseMemory("64K").status().hint(), "64kB (powers of 1000) or 64KiB (powers of 1024)");
}

TEST(ParseMemory, DoesNotRepeatALongOrUnprintableText) {
  const std::string message = ParseMemory(std::string(100'000, '\x1b')).status().message();
  EXPECT_LT(message.size(), 200u);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(PrettyBytes, WritesDecimalUnitsWithOneDigit) {
  EXPECT_EQ(PrettyBytes(0), "0 B");
  EXPECT_EQ(PrettyBytes(999), "999 B");
  EXPECT_EQ(PrettyBytes(1000), "1 kB");
  EXPECT_EQ(PrettyBytes(9'200), "9.2 kB");
  EXPECT_EQ(PrettyBytes(188'400'000), "188.4 MB");
  EXPECT_EQ(PrettyBytes(256'000'000), "256 MB");
  EXPECT_EQ(PrettyBytes(268'435'456), "268.4 MB");
  EXPECT_EQ(PrettyBytes(999'949), "999.9 kB");
  EXPECT_EQ(PrettyBytes(999'950), "1 MB");
  EXPECT_EQ(PrettyBytes(1'500'000'000'000), "1.5 TB");
  EXPECT_EQ(PrettyBytes(-2'500), "-2.5 kB");
}

}  // namespace
}  // namespace plimsoll
