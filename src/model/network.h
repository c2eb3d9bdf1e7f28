// network: the layers of a Spec, cut into body and head.
//   Body: everything up to the last layer that knows time (recurrent or pooling). It is one causal stage and runs block by
//   block. Head: the row-wise layers behind it. They run in slices inside Reverse, together with the loss, and keep nothing.
// All that the network holds is declared here (DeclareNeeds) and bound to planned addresses (NetworkMemory).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arena/arena.h"
#include "layers/layer.h"
#include "layers/pooling.h"
#include "model/spec.h"
#include "plan/planner.h"

namespace plimsoll {

// Most rows of a slice of the head: nothing of size steps x classes ever exists.
inline constexpr int64_t kSliceRows = 256;

class Network {
 public:
  explicit Network(Spec spec);

  const Spec& spec() const { return spec_; }
  int layers() const { return static_cast<int>(layers_.size()); }
  Layer& layer(int number) const { return *layers_[static_cast<size_t>(number)]; }
  const std::string& name(int number) const { return spec_.nodes[static_cast<size_t>(number)].name; }
  int body_layers() const { return body_layers_; }
  const Pooling* pooling() const { return pooling_; }  // the last body layer, or null: one target a step
  bool learns_below(int number) const { return learns_below_[static_cast<size_t>(number)]; }  // its input's gradient is wanted
  // Work of an epoch with so many sequences, steps of theirs in all, and updates.
  EpochWork Work(int64_t rows, int64_t row_steps, int64_t updates) const;

  void AddTiles(ProductSet& products);

 private:
  Spec spec_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<bool> learns_below_;
  int body_layers_ = 0;
  const Pooling* pooling_ = nullptr;
};

// Owners of memory, in the order of the plan: every layer by its number, then these.
enum class NetworkOwner : int { Blocks, Head, Slots, Batch, Optimizer, Files, Count };

// Keys of the owners beside the layers.
enum BlocksKey : int { GradientA, GradientB, FirstOutput };                          // + layer number: output of a body layer
enum HeadKey : int { HeadGradientA, HeadGradientB, Losses, Hits, FirstHeadOutput };  // + layer number
enum BatchKey : int { SampleNumbers, Lengths, Inputs, Targets, RowBuffer, EpochNumbers };
enum OptimizerKey : int { PartialSums, FirstMoment };
// The moments of a layer, 0 and 1, and the running average of its weights, 2.
inline constexpr int kAverage = 2;
constexpr int MomentKey(int layer, int number) { return FirstMoment + 3 * layer + number; }
enum FilesKey : int { WriteBuffer };
inline constexpr int64_t kWriteBufferBytes = 64 * 1024;
inline constexpr int64_t kSumChunk = 16384;  // floats of one partial sum of squares

struct NeedOptions {
  int64_t batch_size = 0;
  SampleShape shape;
  bool training = true;   // false: evaluation alone, no gradients, moments or tape beyond a block
  int moments = 2;        // floats that the optimizer keeps for each weight, at most two
  bool averages = false;  // and one for the running average of the weight
};
std::vector<OwnerNeeds> DeclareNeeds(const Network& network, const NeedOptions& options);

// Every owner's view of the arena.
class NetworkMemory {
 public:
  NetworkMemory(const Network& network, const std::vector<OwnerNeeds>& needs, const Plan& plan, const Arena& arena);
  NetworkMemory(const NetworkMemory&) = delete;
  NetworkMemory& operator=(const NetworkMemory&) = delete;
  // Takes the places of another plan of the same needs.
  void Bind(const std::vector<OwnerNeeds>& needs, const Plan& plan, const Arena& arena);

  const OwnerMemory& layer(int number) const { return owners_[static_cast<size_t>(number)]; }
  const OwnerMemory& owner(NetworkOwner owner) const { return owners_[static_cast<size_t>(layers_ + static_cast<int>(owner))]; }

  TapePosition position;  // of the block that runs; all views follow it

  // The State buffers of forward, for Keep and Restore.
  struct StateBuffer {
    char* state;
    char* slots;  // its copies, slot after slot of group_rows() rows; null without slots
    int64_t row_bytes;
    char* Slot(int64_t number, int64_t group_rows) const { return slots + number * group_rows * row_bytes; }
  };
  const std::vector<StateBuffer>& states() const { return states_; }
  int64_t group_rows() const { return group_rows_; }

 private:
  int layers_;
  std::vector<OwnerMemory> owners_;
  std::vector<StateBuffer> states_;
  int64_t group_rows_ = 0;
};

}  // namespace plimsoll
