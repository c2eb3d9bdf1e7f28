// session: a training loop of one's own. The job is planned and takes its memory exactly as Train does it; after that the
//   caller decides when a batch is taken, when its gradient is computed and when the weights change.
//     Result<std::unique_ptr<Session>> opened = Session::Open(job);
//     Session& session = **opened;
//     while (session.NextBatch()) {
//       Result<Score> score = session.Gradients();
//       Status done = session.Apply();
//     }
//   This loop gives the weights that Train gives, bit for bit.
//   Nothing is allocated between Open and the end but by Save and by failures. What the caller allocates after Open is not in
//   the plan: take it before, or leave room for it in the budget.
//   A session belongs to one thread at a time. Several may be open; the later ones count the earlier ones as their base.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/plan.h"
#include "plimsoll/status.h"

namespace plimsoll {

// A tensor of the model as model files know it (docs/formats.md).
struct TensorInfo {
  std::string name;            // "lstm.weight_ih"
  std::vector<int64_t> shape;  // values lie row after row
  int64_t elements = 0;
};

class Session {
 public:
  // Fails as Train does: a job that has no meaning, data that cannot be read, a budget that is too small.
  static Result<std::unique_ptr<Session>> Open(const Job& job);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Job& job() const;  // complete: defaults filled in, widths decided
  const Plan& plan() const;

  // Takes the next batch, in Train's order. False: train.epochs are over or train.max_steps updates are done.
  bool NextBatch();
  int64_t epoch() const;            // of the batch, from 1
  int64_t step_in_epoch() const;    // the batch's number in its epoch, from 1
  int64_t steps_per_epoch() const;  // the last batch of an epoch has this number
  int64_t updates() const;          // done in all

  // The gradient of the batch, divided once by its own number of targets, and its loss and accuracy. Called again, it gives the
  // same again, dropout included, unless weights have changed. A loss that is not finite is refused (Diverged).
  Result<Score> Gradients();
  // One update by the optimizer, at `rate_factor` times learning_rate(). It uses up the gradient.
  Status Apply(double rate_factor = 1.0);
  double learning_rate() const;  // of the next update, by the job's schedule

  // The score on the validation data, else on the first 1024 training samples; with train.use_ema, of the averages. It leaves
  // batch and gradient as they are.
  Result<Score> Evaluate();

  // Tensors are read into and written from as many floats as they have elements.
  const std::vector<TensorInfo>& tensors() const;
  Status ReadWeights(std::string_view tensor, std::span<float> out) const;
  // Values must be finite. With train.use_ema the average begins anew from them; moments stay.
  Status WriteWeights(std::string_view tensor, std::span<const float> values);
  // From Gradients to the next batch, Apply or Save. The gradient is that before clipping, which is a part of the update.
  Status ReadGradient(std::string_view tensor, std::span<float> out) const;
  Status WriteGradient(std::string_view tensor, std::span<const float> values);

  // Writes a model folder, which must not exist: for evaluate, Evaluate and init_from. With train.use_ema it holds the
  // averages. It uses up the gradient, whose memory the file passes through.
  Status Save(const std::string& folder);

 private:
  struct Parts;
  explicit Session(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace plimsoll
