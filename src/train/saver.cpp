#include "train/saver.h"

#include <fmt/format.h>

#include <array>

#include "model/train_options.h"
#include "plimsoll/text.h"

namespace plimsoll {
namespace {

constexpr double kCheapShare = 0.005;  // of the run's time
constexpr int kMostFailures = 2;       // in a row

}  // namespace

Saver::Saver(std::optional<SnapshotFolder> folder, const Setup& setup, const Engine& engine, RunState& state,
             Observer* observer)
    : folder_(std::move(folder)),
      engine_(engine),
      state_(state),
      observer_(observer),
      content_(setup, engine, state),
      interval_(ReadSaveInterval(setup.job.train.save_every).value()) {
  if (folder_) path_ = folder_->PathOf(~uint64_t{0});  // as long as it can become
}

std::span<std::byte> Saver::buffer() const {
  char* bytes = engine_.memory.owner(NetworkOwner::Files).Bytes(WriteBuffer);
  return {reinterpret_cast<std::byte*>(bytes), static_cast<size_t>(kWriteBufferBytes)};
}

bool Saver::Due() const {
  if (!on()) return false;
  // At whole multiples, so that a run that goes on saves when it would have saved.
  if (interval_.updates > 0) return state_.updates / interval_.updates > saved_updates_ / interval_.updates;
  return interval_.seconds > 0.0 && std::chrono::duration<double>(Clock::now() - saved_at_).count() >= interval_.seconds;
}

bool Saver::IsCheap() const { return seconds_ <= kCheapShare * std::chrono::duration<double>(Clock::now() - began_).count(); }

Status Saver::Save(SaveReason reason) {
  if (!on()) return Status::Ok();
  const uint64_t best = state_.best_generation;
  if (reason == SaveReason::Best) state_.best_generation = folder_->next();
  const Clock::time_point start = Clock::now();
  Status done = folder_->Commit(content_, buffer(), state_.best_generation);
  // What could not be written may have been dropped by the kernel: not that file again, but a fresh one.
  if (done.kind() == StatusKind::CannotWrite) done = folder_->Commit(content_, buffer(), state_.best_generation);
  saved_at_ = Clock::now();
  saved_updates_ = state_.updates;
  const double seconds = std::chrono::duration<double>(saved_at_ - start).count();
  seconds_ += seconds;
  if (done.ok()) {
    failures_ = 0;
    changed_ = false;
    Tell(reason, seconds);
    return done;
  }
  state_.best_generation = best;
  ++failures_;
  if (done.kind() != StatusKind::CannotWrite || reason == SaveReason::Last || failures_ >= kMostFailures) return done;
  if (observer_ != nullptr)
    observer_->Message(fmt::format("not saved: {}; training goes on, and the next save tries again", done.message()));
  return Status::Ok();
}

void Saver::Tell(SaveReason reason, double seconds) {
  if (observer_ == nullptr) return;
  const uint64_t generation = folder_->next() - 1;
  path_.assign(folder_->path());
  fmt::format_to(std::back_inserter(path_), "/{:06}.plimsoll", generation);
  observer_->Saved({.generation = static_cast<int64_t>(generation),
                    .updates = state_.updates,
                    .bytes = folder_->bytes(),
                    .seconds = seconds,
                    .path = path_,
                    .best = reason == SaveReason::Best});
  if (reason != SaveReason::Interval) return;
  std::array<char, 512> text;
  const auto told = fmt::format_to_n(text.data(), text.size(), "saved {} after update {} ({} in {:.2f} s)", path_,
                                     state_.updates, PrettyBytes(folder_->bytes()), seconds);
  observer_->Message({text.data(), std::min(told.size, text.size())});
}

}  // namespace plimsoll
