// saver: when a run saves itself, and what becomes of a save that fails.
//   A failure in the middle of a run is told, and the run goes on; two in a row, or that of the last save, end it
//   (CannotWrite). never: allocates but to tell of a failure
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "model/train_options.h"
#include "plimsoll/observer.h"
#include "plimsoll/status.h"
#include "train/run_state.h"
#include "train/snapshot_folder.h"

namespace plimsoll {

enum class SaveReason { Interval, Best, Last };

class Saver {
 public:
  // folder: nothing where the run has none; then nothing is saved. `state` is what is saved, and outlives this.
  Saver(std::optional<SnapshotFolder> folder, const Setup& setup, const Engine& engine, RunState& state, Observer* observer);

  bool on() const { return folder_.has_value(); }
  bool Due() const;      // by train.save_every
  bool IsCheap() const;  // so far, saving took next to nothing of the run's time
  // The state as it is. Best: this generation becomes state.best_generation, where it could be saved.
  Status Save(SaveReason reason);
  // The state has become that of a snapshot.
  void Loaded() { saved_updates_ = state_.updates; }
  // Something has happened since the last save.
  void Changed() { changed_ = true; }
  bool changed() const { return changed_; }

  const RunContent& content() const { return content_; }
  std::span<std::byte> buffer() const;  // between two updates
  SnapshotFolder* folder() { return folder_ ? &*folder_ : nullptr; }

 private:
  using Clock = std::chrono::steady_clock;
  void Tell(SaveReason reason, double seconds);

  std::optional<SnapshotFolder> folder_;
  const Engine& engine_;
  RunState& state_;
  Observer* observer_;
  RunContent content_;
  SaveInterval interval_;
  std::string path_;  // of the last generation
  Clock::time_point began_ = Clock::now();
  Clock::time_point saved_at_ = began_;
  int64_t saved_updates_ = 0;
  double seconds_ = 0.0;  // spent on saving
  int failures_ = 0;      // in a row
  bool changed_ = false;
};

}  // namespace plimsoll
