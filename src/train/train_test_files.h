// train_test_files: what the tests of this folder write, and read back.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/npy_test_files.h"
#include "train/setup.h"

namespace plimsoll {

// The program is built with a sanitizer, whose own memory is no part of any plan.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline std::unique_ptr<Setup> SetUpOrThrow(const Job& job) {
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {});
  if (!setup.ok()) throw std::runtime_error(setup.status().message());
  return std::move(setup).value();
}

// A folder of its own, gone with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "plimsoll_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A .npz of ragged samples: ids below 40 as `x`, and targets of each kind: `y` and `y_tags`, 7 classes a step; `y_next`, 40
// classes a step; `y_values`, 3 values a step; `y_mood`, 2 values a sample; `y_kind`, 5 classes a sample.
inline std::string PutSeveralTargets(const std::string& path, int64_t samples, int64_t longest) {
  RandomSequence random(SeedFor(8, RandomUse::Test), 0);
  std::vector<int32_t> x, lengths, tags, next, kind;
  std::vector<float> values, mood;
  const auto below = [&](uint64_t bound) { return static_cast<int32_t>(random.Below(bound)); };
  for (int64_t sample = 0; sample < samples; ++sample) {
    lengths.push_back(sample == 0 ? static_cast<int32_t>(longest) : 1 + below(static_cast<uint64_t>(longest)));
    kind.push_back(sample == 0 ? 4 : below(5));
    for (int i = 0; i < 2; ++i) mood.push_back(random.Unit());
    for (int64_t step = 0; step < longest; ++step) {
      x.push_back(step == 0 ? 39 : below(40));
      tags.push_back(step == 0 ? 6 : below(7));
      next.push_back(step == 0 ? 39 : below(40));
      for (int i = 0; i < 3; ++i) values.push_back(random.Unit() - 0.5f);
    }
  }
  const std::string rows = fmt::format("({},)", samples), steps = fmt::format("({}, {})", samples, longest);
  const std::string file = Zip({{"x.npy", Npy<int32_t>(x, steps)},
                                {"lengths.npy", Npy<int32_t>(lengths, rows)},
                                {"y.npy", Npy<int32_t>(tags, steps)},
                                {"y_tags.npy", Npy<int32_t>(tags, steps)},
                                {"y_next.npy", Npy<int32_t>(next, steps)},
                                {"y_values.npy", Npy<float>(values, fmt::format("({}, {}, 3)", samples, longest))},
                                {"y_mood.npy", Npy<float>(mood, fmt::format("({}, 2)", samples))},
                                {"y_kind.npy", Npy<int32_t>(kind, rows)}});
  std::ofstream(path, std::ios::binary) << file;
  return path;
}

}  // namespace plimsoll
