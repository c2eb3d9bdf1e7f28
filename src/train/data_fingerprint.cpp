#include "train/data_fingerprint.h"

#include <algorithm>
#include <vector>

#include "base/digest.h"
#include "data/batch.h"

namespace plimsoll {
namespace {

constexpr int64_t kLookedAt = 16;  // samples

void Add(Digest& digest, int64_t number) { digest.Add(std::as_bytes(std::span(&number, 1))); }

Status AddSample(Digest& digest, Samples& samples, int64_t sample, std::vector<std::byte>& row) {
  const SampleShape& shape = samples.shape();
  const auto room = static_cast<int64_t>(row.size());
  const int64_t length = samples.length(sample), steps = std::min(length, room / (shape.width * 4));
  PLIMSOLL_RETURN_IF_ERROR(samples.ReadInputs(sample, 0, steps, row.data()));
  digest.Add(std::span(row).first(static_cast<size_t>(steps * shape.width * 4)));
  for (size_t output = 0; output < shape.outputs(); ++output) {
    const TargetShape target = shape.Target(output);
    const int64_t targets = shape.longest_target > 0 ? samples.target_length(sample) : target.per_step ? length : 1;
    const int64_t now = std::min(targets, room / (target.width * 4));
    PLIMSOLL_RETURN_IF_ERROR(samples.ReadTargetsOf(output, sample, 0, now, row.data()));
    digest.Add(std::span(row).first(static_cast<size_t>(now * target.width * 4)));
  }
  return Status::Ok();
}

}  // namespace

Result<uint64_t> FingerprintOf(Samples& train, Samples* valid) {
  Digest digest;
  std::vector<std::byte> row(static_cast<size_t>(kRowBufferBytes));
  for (Samples* samples : {&train, valid}) {
    if (samples == nullptr) continue;
    Add(digest, samples->count());
    Add(digest, samples->shape().width);
    for (int64_t sample = 0; sample < samples->count(); ++sample) Add(digest, samples->length(sample));
    const int64_t looked_at = std::min(kLookedAt, samples->count());
    for (int64_t i = 0; i < looked_at; ++i) {
      PLIMSOLL_RETURN_IF_ERROR(AddSample(digest, *samples, i * samples->count() / looked_at, row));
    }
  }
  return digest.value();
}

}  // namespace plimsoll
