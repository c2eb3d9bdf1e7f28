#include "data/zip.h"

#include <gtest/gtest.h>

#include "data/npy_test_files.h"

namespace plimsoll {
namespace {

class ZipTest : public testing::Test {
 protected:
  Result<std::vector<ZipMember>> Read(std::string_view bytes) {
    auto file = File::OpenRead(folder_.Put("a.npz", bytes));
    if (!file.ok()) return file.status();
    file_ = std::make_unique<File>(std::move(*file));
    return ReadZipDirectory(*file_);
  }
  std::string Content(const ZipMember& member) const {
    std::string bytes(static_cast<size_t>(member.bytes), ' ');
    if (!member.deflated) {
      EXPECT_TRUE(file_->ReadAt(member.offset, member.bytes, bytes.data()).ok());
      return bytes;
    }
    const auto inflated = InflateMember(*file_, member);
    EXPECT_TRUE(inflated.ok()) << inflated.status().message();
    if (!inflated.ok()) return "";
    EXPECT_EQ(inflated.value().size(), member.bytes);
    EXPECT_TRUE(inflated.value().ReadAt(0, member.bytes, bytes.data()).ok());
    return bytes;
  }
  void ExpectRefused(const Status& status, std::string_view because) const {
    ASSERT_FALSE(status.ok()) << because;
    EXPECT_EQ(status.exit_code(), 3);
    EXPECT_NE(status.message().find("a.npz"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(because), std::string::npos) << status.message();
  }
  void ExpectDirectoryRefused(std::string_view bytes, std::string_view because) {
    ExpectRefused(Read(bytes).status(), because);
  }
  void ExpectInflateRefused(const TestMember& member, std::string_view because) {
    const auto members = Read(Zip({member}));
    ASSERT_TRUE(members.ok()) << members.status().message();
    ExpectRefused(InflateMember(*file_, members.value()[0]).status(), because);
  }
  TestFolder folder_;
  std::unique_ptr<File> file_;
};

const TestMember kStored{"x.npy", "stored bytes"};
const TestMember kPacked{"y.npy", std::string(100000, 'y') + "end", /*deflated=*/true};

TEST_F(ZipTest, StoredAndDeflatedMembersGiveTheirBytes) {
  for (const bool zip64 : {false, true}) {
    for (const char* comment : {"", "a comment"}) {
      const auto members = Read(Zip({kStored, kPacked}, {.zip64 = zip64, .comment = comment}));
      ASSERT_TRUE(members.ok()) << members.status().message();
      ASSERT_EQ(members.value().size(), 2u);
      EXPECT_EQ(members.value()[0].name, "x.npy");
      EXPECT_EQ(Content(members.value()[0]), "stored bytes");
      EXPECT_EQ(Content(members.value()[1]), std::string(100000, 'y') + "end");
    }
  }
}

TEST_F(ZipTest, AnArchiveWithoutMembersIsSound) {
  const auto members = Read(Zip({}));
  ASSERT_TRUE(members.ok());
  EXPECT_TRUE(members.value().empty());
}

TEST_F(ZipTest, AnArchiveCutAtAnyByteIsRefused) {
  for (const bool zip64 : {false, true}) {
    const std::string whole = Zip({kStored, {"y.npy", "deflated", true}}, {.zip64 = zip64});
    ASSERT_TRUE(Read(whole).ok());
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) ExpectDirectoryRefused(whole.substr(0, bytes), "");
    ExpectDirectoryRefused(whole + "x", "");
  }
}

TEST_F(ZipTest, AnyChangedByteIsReadOrRefusedButNeverACrash) {
  const std::string whole = Zip({{"x.npy", "stored"}, {"y.npy", "deflated", true}}, {.zip64 = true});
  for (size_t place = 0; place < whole.size(); ++place) {
    std::string bytes = whole;
    bytes[place] = static_cast<char>(bytes[place] == '\xff' ? 0 : 0xff);
    const auto members = Read(bytes);
    if (!members.ok()) {
      EXPECT_EQ(members.status().exit_code(), 3);
      continue;
    }
    for (const ZipMember& member : members.value()) {
      EXPECT_TRUE(member.offset >= 0 && member.packed_bytes <= static_cast<int64_t>(whole.size()) - member.offset);
      if (!member.deflated) continue;
      const auto inflated = InflateMember(*file_, member);
      if (!inflated.ok()) {
        EXPECT_EQ(inflated.status().exit_code(), 3) << inflated.status().message();
      }
    }
  }
}

TEST_F(ZipTest, LengthsOutsideTheFileAreRefused) {
  for (const bool zip64 : {false, true}) {
    for (const uint64_t length : {uint64_t{1} << 31, uint64_t{1} << 63, UINT64_MAX, uint64_t{0}, uint64_t{13}}) {
      if (!zip64 && length > UINT32_MAX) continue;
      TestMember member = kStored;
      member.claimed_packed = member.claimed_bytes = length;
      if (length == 0) continue;  // an empty member that is followed by unused bytes harms nobody
      ExpectDirectoryRefused(Zip({member}, {.zip64 = zip64}), "are left");
    }
    for (const int64_t offset : {int64_t{1} << 31, INT64_MAX, int64_t{1000}}) {
      if (!zip64 && offset > UINT32_MAX) continue;
      TestMember member = kStored;
      member.claimed_offset = offset;
      ExpectDirectoryRefused(Zip({member}, {.zip64 = zip64}), "said to start");
    }
  }
}

TEST_F(ZipTest, MembersThatOverlapOrShareANameAreRefused) {
  EXPECT_TRUE(Read(Zip({kStored, {"z.npy", "other"}})).ok());
  ExpectDirectoryRefused(Zip({kStored, kStored}), "two members are called 'x.npy'");

  // A member that claims the next one's bytes as its own.
  TestMember greedy = kStored;
  greedy.claimed_packed = greedy.claimed_bytes = 40;
  ExpectDirectoryRefused(Zip({greedy, {"z.npy", "other"}}), "overlap");

  // Two entries for the same bytes: the local header has one name, so the second entry does not agree with it.
  TestMember alias{"z.npy", "stored bytes"};
  alias.claimed_offset = 0;
  ExpectDirectoryRefused(Zip({kStored, alias}), "in the directory");
}

TEST_F(ZipTest, TheLocalHeaderMustAgreeWithTheDirectory) {
  TestMember renamed = kStored;
  renamed.local_name = "q.npy";
  ExpectDirectoryRefused(Zip({renamed}), "'q.npy'");
  renamed.local_name = "longer.npy";
  ExpectDirectoryRefused(Zip({renamed}), "not as the directory says");
}

TEST_F(ZipTest, CountsThatDoNotFitTheDirectoryAreRefused) {
  ExpectDirectoryRefused(Zip({kStored}, {.extra_entries = 1}), "do not fit");
  ExpectDirectoryRefused(Zip({kStored}, {.zip64 = true, .extra_entries = 1 << 30}), "do not fit");
  ExpectDirectoryRefused(Zip({kStored, {"z.npy", "other"}}, {.extra_entries = -1}), "behind the last directory entry");
  std::vector<TestMember> many;
  for (int i = 0; i <= kZipMemberCap; ++i) many.emplace_back(fmt::format("{}.npy", i), "");
  ExpectDirectoryRefused(Zip(many), "at most 4096");
  many.pop_back();
  EXPECT_TRUE(Read(Zip(many)).ok());
}

TEST_F(ZipTest, EncryptedAndForeignMethodsAreRefused) {
  TestMember member = kStored;
  member.flags = 1;
  ExpectDirectoryRefused(Zip({member}), "encrypted");
  member = kStored;
  member.method = 93;
  ExpectDirectoryRefused(Zip({member}), "method 93");
  member = kStored;
  member.claimed_bytes += 1;
  ExpectDirectoryRefused(Zip({member}), "two sizes differ");
}

TEST_F(ZipTest, InflatingGivesExactlyWhatWasClaimedOrNothing) {
  TestMember member = kPacked;
  member.claimed_bytes -= 1;
  ExpectInflateRefused(member, "more than the 100002 bytes claimed");
  member.claimed_bytes = 0;
  ExpectInflateRefused(member, "more than the 0 bytes claimed");
  member.claimed_bytes = kPacked.claimed_bytes + 1;
  ExpectInflateRefused(member, "inflates to 100003 bytes");
  member = kPacked;
  member.crc ^= 1;
  ExpectInflateRefused(member, "CRC");
  member = kPacked;
  member.packed += "x";
  member.claimed_packed += 1;
  ExpectInflateRefused(member, "behind its compressed stream");
  member = kPacked;
  member.packed.pop_back();
  member.claimed_packed -= 1;
  ExpectInflateRefused(member, "end early");
  member.packed[0] = '\xff';
  ExpectInflateRefused(member, "damaged");
}

TEST_F(ZipTest, ABombIsRefusedAndAnHonestArrayOfZerosIsNot) {
  TestMember bomb{"x.npy", std::string(1 << 20, '\0'), /*deflated=*/true};
  ASSERT_GT(bomb.claimed_bytes, 200 * bomb.claimed_packed);
  const auto members = Read(Zip({bomb}));
  ASSERT_TRUE(members.ok());
  EXPECT_EQ(Content(members.value()[0]).size(), size_t{1} << 20) << "zeros pack well, and 1 MiB does no harm";
  bomb.claimed_bytes = uint64_t{1} << 40;
  {
    const auto large = Read(Zip({bomb}, {.zip64 = true}));
    ASSERT_TRUE(large.ok());
    ExpectRefused(InflateMember(*file_, large.value()[0]).status(), "bomb");
  }
  bomb.claimed_bytes = 1000;  // claims little, gives much: stopped at the first byte beyond
  ExpectInflateRefused(bomb, "more than the 1000 bytes claimed");
}

}  // namespace
}  // namespace plimsoll
