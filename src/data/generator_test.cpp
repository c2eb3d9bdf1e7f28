#include "data/generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"

namespace plimsoll {
namespace {

std::unique_ptr<Samples> Make(const std::string& text, uint64_t seed = 1) {
  for (const Task task : {Task::Classify, Task::Regress}) {
    auto samples = OpenGenerator("generate:" + text, task, seed);
    if (samples.ok()) return std::move(*samples);
  }
  ADD_FAILURE() << text;
  return nullptr;
}

// All values are 4 bytes wide; they are compared as bits.
using Bits = std::vector<uint32_t>;
Bits InputBits(Samples& samples, int64_t sample, int64_t first, int64_t steps) {
  Bits bits(static_cast<size_t>(steps * samples.shape().width));
  EXPECT_TRUE(samples.ReadInputs(sample, first, steps, bits.data()).ok());
  return bits;
}
Bits TargetBits(Samples& samples, int64_t sample, int64_t first, int64_t steps) {
  Bits bits(static_cast<size_t>(steps * samples.shape().target_width));
  EXPECT_TRUE(samples.ReadTargets(sample, first, steps, bits.data()).ok());
  return bits;
}
template <typename T>
std::vector<T> As(const Bits& bits) {
  std::vector<T> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * 4);
  return values;
}

const std::vector<std::string> kTexts = {"adding?steps=70",
                                         "adding?steps=70&min_steps=2",
                                         "copy?delay=20&count=6",
                                         "parity?steps=100&min_steps=1",
                                         "parity?steps=100&per_step=false",
                                         "sine?steps=60&min_steps=20&noise=0.2",
                                         "spell?labels=30&min_labels=2&hold=3"};

TEST(Generator, ValuesDoNotDependOnHowTheyAreRead) {
  RandomSequence random(SeedFor(9, RandomUse::Test), 0);
  for (const std::string& text : kTexts) {
    const auto samples = Make(text), other = Make(text);
    for (int round = 0; round < 300; ++round) {
      const auto sample = static_cast<int64_t>(random.Below(50));
      const int64_t length = samples->length(sample);
      const Bits inputs = InputBits(*samples, sample, 0, length);
      const auto first = static_cast<int64_t>(random.Below(static_cast<uint64_t>(length)));
      const auto steps = static_cast<int64_t>(random.Below(static_cast<uint64_t>(length - first) + 1));
      const auto width = samples->shape().width;
      EXPECT_EQ(InputBits(*other, sample, first, steps),
                Bits(inputs.begin() + first * width, inputs.begin() + (first + steps) * width))
          << text;
      if (!samples->shape().target_per_step) {
        EXPECT_EQ(TargetBits(*samples, sample, 0, 1), TargetBits(*other, sample, 0, 1));
        continue;
      }
      const Bits targets = TargetBits(*samples, sample, 0, length);
      EXPECT_EQ(TargetBits(*other, sample, first, steps), Bits(targets.begin() + first, targets.begin() + first + steps))
          << text;
    }
  }
}

TEST(Generator, SeedsAndSamplesDiffer) {
  for (const std::string& text : kTexts) {
    const auto samples = Make(text), other = Make(text, /*seed=*/2);
    const auto start = [](Samples& s, int64_t sample) {
      return InputBits(s, sample, 0, std::min<int64_t>(s.length(sample), 2));
    };
    int same_seed = 0, same_sample = 0;
    for (int64_t sample = 0; sample < 50; ++sample) {
      same_seed += start(*samples, sample) == start(*other, sample);
      same_sample += start(*samples, sample) == start(*samples, sample + 1);
    }
    EXPECT_LT(same_seed, 35) << text;
    EXPECT_LT(same_sample, 35) << text;
  }
}

TEST(Generator, LengthsAreUniformBetweenTheirBounds) {
  const auto samples = Make("adding?steps=12&min_steps=3&samples=5000");
  std::vector<int> seen(13);
  for (int64_t sample = 0; sample < samples->count(); ++sample) ++seen.at(static_cast<size_t>(samples->length(sample)));
  for (int length = 0; length <= 12; ++length)
    EXPECT_NEAR(seen[static_cast<size_t>(length)], length < 3 ? 0 : 500, length < 3 ? 0 : 100);
  EXPECT_EQ(Make("sine?steps=9")->length(77), 9);
}

TEST(Generator, AddingMarksOneValueInEachHalfAndAsksForTheirSum) {
  const auto samples = Make("adding?steps=31&min_steps=2&samples=400");
  for (int64_t sample = 0; sample < samples->count(); ++sample) {
    const int64_t length = samples->length(sample);
    const auto rows = As<float>(InputBits(*samples, sample, 0, length));
    float sum = 0.0f;
    int marks[2] = {0, 0};
    for (int64_t step = 0; step < length; ++step) {
      const float value = rows[static_cast<size_t>(2 * step)], marker = rows[static_cast<size_t>(2 * step + 1)];
      ASSERT_TRUE(value >= 0.0f && value < 1.0f && (marker == 0.0f || marker == 1.0f));
      sum += value * marker;
      marks[step >= length / 2] += marker == 1.0f;
    }
    ASSERT_TRUE(marks[0] == 1 && marks[1] == 1);
    ASSERT_EQ(As<float>(TargetBits(*samples, sample, 0, 1))[0], sum);
  }
}

TEST(Generator, CopyAnswersWithItsSymbolsAfterTheGoMarker) {
  const auto samples = Make("copy?delay=5&symbols=4&count=3&samples=100");
  EXPECT_EQ(samples->shape().vocabulary, 6);
  EXPECT_EQ(samples->shape().classes, 5);
  EXPECT_EQ(samples->length(0), 11);
  std::vector<int> seen(4);
  for (int64_t sample = 0; sample < samples->count(); ++sample) {
    const auto in = As<int32_t>(InputBits(*samples, sample, 0, 11)), out = As<int32_t>(TargetBits(*samples, sample, 0, 11));
    for (size_t step = 0; step < 11; ++step) {
      if (step < 3) {
        ++seen.at(static_cast<size_t>(in[step]));
        EXPECT_EQ(out[step + 8], in[step]);
      } else {
        EXPECT_EQ(in[step], step == 7 ? 5 : 4);
      }
      if (step < 8) {
        EXPECT_EQ(out[step], 4);
      }
    }
  }
  for (const int symbol : seen) EXPECT_NEAR(symbol, 75, 40);
}

TEST(Generator, ParityIsThatOfTheOnesSoFar) {
  const auto per_step = Make("parity?steps=100&min_steps=1&samples=50");
  const auto whole = Make("parity?steps=100&min_steps=1&samples=50&per_step=false");
  EXPECT_EQ(per_step->shape().vocabulary, 2);
  int ones = 0, all = 0;
  for (int64_t sample = 0; sample < 50; ++sample) {
    const int64_t length = per_step->length(sample);
    const auto ids = As<int32_t>(InputBits(*per_step, sample, 0, length)),
               classes = As<int32_t>(TargetBits(*per_step, sample, 0, length));
    int32_t parity = 0;
    for (size_t step = 0; step < ids.size(); ++step) {
      parity ^= ids[step];
      ones += ids[step];
      ++all;
      ASSERT_EQ(classes[step], parity);
    }
    ASSERT_EQ(As<int32_t>(TargetBits(*whole, sample, 0, 1))[0], parity);
  }
  EXPECT_NEAR(static_cast<double>(ones) / all, 0.5, 0.05);
}

TEST(Generator, SpellShowsEachLabelAndThenNothing) {
  const auto samples = Make("spell?labels=9&min_labels=2&symbols=4&hold=3&samples=60");
  EXPECT_EQ(samples->shape().longest_target, 9);
  EXPECT_EQ(samples->shape().classes, 5);
  std::vector<int> seen(5);
  int64_t shortest = 9, longest = 0;
  for (int64_t sample = 0; sample < samples->count(); ++sample) {
    const int64_t labels = samples->target_length(sample);
    shortest = std::min(shortest, labels);
    longest = std::max(longest, labels);
    ASSERT_EQ(samples->length(sample), 3 * labels);
    const auto in = As<int32_t>(InputBits(*samples, sample, 0, 3 * labels));
    const auto out = As<int32_t>(TargetBits(*samples, sample, 0, labels));
    for (size_t step = 0; step < in.size(); ++step) {
      const int32_t label = out[step / 3];
      ++seen.at(static_cast<size_t>(in[step]));
      EXPECT_TRUE(step % 3 == 0 ? in[step] == label : step % 3 == 2 ? in[step] == 0 : in[step] == 0 || in[step] == label);
    }
  }
  EXPECT_EQ(shortest, 2);
  EXPECT_EQ(longest, 9);
  for (const int symbol : seen) EXPECT_GT(symbol, 60);
}

TEST(Generator, SineAsksForTheNextCleanValue) {
  const auto clean = Make("sine?steps=50&noise=0"), noisy = Make("sine?steps=50&noise=0.1");
  double squares = 0.0;
  for (int64_t sample = 0; sample < 100; ++sample) {
    const auto wave = As<float>(InputBits(*clean, sample, 0, 50)), next = As<float>(TargetBits(*clean, sample, 0, 50));
    const auto noise = As<float>(InputBits(*noisy, sample, 0, 50));
    for (size_t step = 0; step < 50; ++step) {
      if (step > 0) {
        EXPECT_EQ(wave[step], next[step - 1]);
      }
      squares += std::pow(noise[step] - wave[step], 2.0);
    }
  }
  EXPECT_NEAR(std::sqrt(squares / 5000), 0.1, 0.01);
}

TEST(Generator, WhatIsNotKnownIsRefusedWithWhatIs) {
  const auto refused = [](const std::string& text) {
    const auto samples = OpenGenerator("generate:" + text, Task::Regress, 1);
    EXPECT_EQ(samples.status().exit_code(), 2) << text;
    return samples.status().message() + " | " + samples.status().hint();
  };
  EXPECT_TRUE(OpenGenerator("generate:adding?steps=20", Task::Regress, 1).ok());
  EXPECT_NE(refused("ading").find("did you mean 'adding'?"), std::string::npos);
  EXPECT_NE(refused("xyz").find("generators: adding, copy, parity, sine, spell"), std::string::npos);
  EXPECT_NE(refused("adding?setps=20").find("did you mean 'steps'?"), std::string::npos);
  EXPECT_NE(refused("adding?zz=20").find("keys: steps, min_steps, samples"), std::string::npos);
  EXPECT_NE(refused("parity").find("classify"), std::string::npos);
  for (const char* text :
       {"", "adding?steps", "adding?steps=", "adding?steps=1", "adding?steps=20x", "adding?steps=-5", "adding?steps=1e3",
        "adding?steps=99999999999999999999", "adding?steps=20&steps=20", "adding?steps=20&min_steps=21", "adding?samples=0",
        "adding?=3", "adding?&", "sine?noise=nan", "sine?noise=-1", "sine?noise=inf"}) {
    refused(text);
  }
}

}  // namespace
}  // namespace plimsoll
