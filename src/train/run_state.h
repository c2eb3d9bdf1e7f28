// run_state: all that a run is made of between two updates, and how it becomes the content of a snapshot and back.
//   Content: numbers of 8 bytes each, three texts, a table of tensors, the tensors (docs/formats.md has every byte).
//   Tensors lie in the file as they lie in memory, padding included: the same bytes under every plan of a job.
//   never: allocates while it writes
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/snapshot.h"
#include "model/step.h"
#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"
#include "train/best_score.h"
#include "train/lr_schedule.h"
#include "train/setup.h"
#include "train/snapshot_folder.h"

namespace plimsoll {

// Updates that were left out because they were not finite.
struct SkipState {
  int64_t total = 0;
  int64_t in_a_row = 0;
  std::array<uint64_t, 2> last = {};  // one bit for each of the last 128 batches, the latest lowest
};

struct RunState {
  int64_t updates = 0;
  int64_t epoch = 1;
  int64_t step = 0;  // batches of the epoch that are done
  int64_t group_rows = 0;
  uint64_t data = 0;             // fingerprint
  uint64_t best_generation = 0;  // 0: none
  Score first;                   // before training
  StepSums sums;                 // of the epoch so far
  Plateau::State plateau;
  BestScore::State best;
  SkipState skipped;
};

// What lies in front of the tensors.
struct SnapshotFront {
  RunState state;
  std::string kernels;  // what computed it
  std::string job;      // complete, as TOML
  struct Tensor {
    std::string name;
    int64_t bytes = 0;
  };
  std::vector<Tensor> tensors;
};
// False: `reader` or `problem` says what is wrong.
bool ReadFront(SnapshotReader& reader, SnapshotFront& front, std::string& problem);

class RunContent final : public SnapshotContent {
 public:
  RunContent(const Setup& setup, const Engine& engine, const RunState& state);
  int64_t bytes() const override { return bytes_; }
  // Refuses a value that is not finite, naming its tensor (Diverged).
  Status WriteTo(SnapshotWriter& writer) override;
  // Takes the tensors behind a front that has been read. Those of the file must be those of the run.
  bool ReadFrom(SnapshotReader& reader, const SnapshotFront& front, std::string& problem) const;

 private:
  struct Place {
    std::string name;
    bool of_layer;
    int owner;  // a layer, or a NetworkOwner
    int key;
    int64_t bytes;
  };
  char* At(const Place& place) const;
  void Add(std::string name, bool of_layer, int owner, int key);

  const Engine& engine_;
  const RunState& state_;
  std::string kernels_;
  std::string job_;
  std::vector<Place> places_;
  int64_t bytes_ = 0;
};

}  // namespace plimsoll
