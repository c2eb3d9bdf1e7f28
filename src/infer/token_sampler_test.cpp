#include "infer/token_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace plimsoll {
namespace {

constexpr int kDraws = 40'000;

// How often each token is drawn.
std::vector<double> Shares(const std::vector<float>& outputs, const TokenSampler::Options& options) {
  std::vector<Candidate> candidates(outputs.size());
  TokenSampler sampler(options, candidates);
  RandomSequence random(5, 0);
  std::vector<double> shares(outputs.size());
  for (int i = 0; i < kDraws; ++i) shares[static_cast<size_t>(sampler.Draw(outputs.data(), random))] += 1.0 / kDraws;
  return shares;
}

// Probabilities 0.5, 0.25, 0.125, 0.125, in no order.
const std::vector<float> kOutputs = {std::log(0.125f), std::log(0.5f), std::log(0.125f), std::log(0.25f)};

void ExpectShares(const std::vector<double>& found, const std::vector<double>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0.0) {
      EXPECT_EQ(found[i], 0.0) << i;
    }
    EXPECT_NEAR(found[i], wanted[i], 5.0 * std::sqrt(0.25 / kDraws)) << i;
  }
}

TEST(TokenSampler, TokensComeAsOftenAsTheirProbabilitySays) {
  ExpectShares(Shares(kOutputs, {}), {0.125, 0.5, 0.125, 0.25});
  ExpectShares(Shares(kOutputs, {.temperature = 0.5}), {1.0 / 22, 16.0 / 22, 1.0 / 22, 4.0 / 22});
}

TEST(TokenSampler, WithoutTemperatureTheMostProbableComesAndOfEqualsTheFirst) {
  ExpectShares(Shares(kOutputs, {.temperature = 0.0}), {0.0, 1.0, 0.0, 0.0});
  ExpectShares(Shares({1.0f, 2.0f, 2.0f}, {.temperature = 0.0}), {0.0, 1.0, 0.0});
}

TEST(TokenSampler, OnlyTheMostProbableAreDrawnFrom) {
  ExpectShares(Shares(kOutputs, {.top_k = 2}), {0.0, 2.0 / 3, 0.0, 1.0 / 3});
  ExpectShares(Shares(kOutputs, {.top_k = 3}), {1.0 / 7, 4.0 / 7, 0.0, 2.0 / 7});
  ExpectShares(Shares(kOutputs, {.top_p = 0.7}), {0.0, 2.0 / 3, 0.0, 1.0 / 3});
  ExpectShares(Shares(kOutputs, {.top_p = 0.01}), {0.0, 1.0, 0.0, 0.0});
  ExpectShares(Shares(kOutputs, {.top_k = 100, .top_p = 1.0}), {0.125, 0.5, 0.125, 0.25});
}

TEST(TokenSampler, TopPOverManyTokensTakesJustEnoughOfThem) {
  std::vector<float> outputs(400);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = static_cast<float>(i * 7919 % 400) * 1e-6f;  // nearly equal
  const std::vector<double> shares = Shares(outputs, {.top_p = 0.8});
  for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(shares[i] > 0.0, i * 7919 % 400 >= 80) << i;
}

TEST(TokenSampler, WhatMustNotComeDoesNot) {
  ExpectShares(Shares(kOutputs, {.never = {1, -1}}), {0.25, 0.0, 0.25, 0.5});
  ExpectShares(Shares(kOutputs, {.temperature = 0.0, .never = {1, 0}}), {0.0, 0.0, 0.0, 1.0});
}

TEST(TokenSampler, OutputsThatAreNotFiniteAreNoted) {
  std::vector<Candidate> candidates(3);
  RandomSequence random(5, 0);
  const std::vector<float> outputs = {1.0f, std::numeric_limits<float>::quiet_NaN(), 2.0f};
  EXPECT_EQ(TokenSampler({}, candidates).Draw(outputs.data(), random), TokenSampler::kNone);
}

}  // namespace
}  // namespace plimsoll
