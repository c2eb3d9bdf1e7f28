// network: the layers of a Spec, cut into body and head.
//   Body: everything up to the last layer that knows time (recurrent or pooling). It is one causal stage and runs block by
//   block. Head: the row-wise layers behind it. They run in slices inside Reverse, together with the loss, and keep nothing.
//   Each layer reads layers before it; the head reads pooled rows, or else the steps of any layer of the body. With several
//   outputs it may do both, by layers of the one kind and of the other.
// All that the network holds is declared here (DeclareNeeds) and bound to planned addresses (NetworkMemory).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arena/arena.h"
#include "base/machine.h"
#include "layers/crf.h"
#include "layers/ctc.h"
#include "layers/layer.h"
#include "layers/pooling.h"
#include "model/gradient_routes.h"
#include "model/spec.h"
#include "plan/planner.h"

namespace plimsoll {

// Most rows of a slice of the head: nothing of size steps x classes ever exists.
inline constexpr int64_t kSliceRows = 256;

// Whether looking up the products of so many ids is less work than making them at every step of a batch.
bool LookUpPays(int64_t ids, int64_t batch_steps);

class Network {
 public:
  // lanes: of the machine's vectors. batch_steps: those of a batch, in the mean; 0: not known, nothing is looked up.
  explicit Network(Spec spec, int32_t lanes = VectorLanes(BestInstructions()), int64_t batch_steps = 0);

  const Spec& spec() const { return spec_; }
  int32_t lanes() const { return lanes_; }
  int layers() const { return static_cast<int>(layers_.size()); }
  Layer& layer(int number) const { return *layers_[static_cast<size_t>(number)]; }
  const std::string& name(int number) const { return spec_.nodes[static_cast<size_t>(number)].name; }
  int body_layers() const { return body_layers_; }
  // What it reads; of a layer that looks up products the ids themselves.
  const std::vector<int>& inputs(int number) const { return nodes_[static_cast<size_t>(number)].inputs; }
  // The Embedding whose weights it reads, or kNoTable: one that it is tied to, or whose products it looks up.
  int table(int number) const { return nodes_[static_cast<size_t>(number)].table; }
  // False of an Embedding whose vectors nobody reads, because their products are looked up.
  bool runs(int number) const { return runs_[static_cast<size_t>(number)]; }
  bool head_steps() const { return head_steps_; }  // the head, or a part of it, runs on every step
  bool head_rows() const { return head_rows_; }    // and once, on pooled rows
  // A loss is taken from what it gives; the gradient is left in its place.
  bool is_output(int number) const;
  // The layer as pooling; null where it is none.
  const Pooling* pooling(int number) const { return poolings_[static_cast<size_t>(number)]; }
  // The last layer, where it is the loss and there is no head; at most one of the two. Else the head's outputs go to a loss.
  const Crf* crf() const { return crf_; }
  const Ctc* ctc() const { return ctc_; }
  bool is_own_loss() const { return crf_ != nullptr || ctc_ != nullptr; }
  bool learns(int number) const;    // it has weights, and they are trained
  bool is_table(int number) const;  // its weights are rows that ids look up
  // It or a layer that it reads learns, so that the gradient of its output is wanted.
  bool wants_gradient(int number) const { return wants_gradient_[static_cast<size_t>(number)]; }
  bool body_learns() const { return body_learns_; }  // some layer of it
  const GradientRoutes& routes() const { return routes_; }
  // Work of an epoch with so many sequences, steps of theirs in all, and updates.
  EpochWork Work(int64_t rows, int64_t row_steps, int64_t updates) const;

  void AddTiles(ProductSet& products);
  int64_t weight_bytes() const;  // of all layers
  // Classes of the one output whose hits can be told apart in a small table; 0: there is none.
  int64_t confused_classes() const;

 private:
  void LookUpProducts(int64_t batch_steps);
  int64_t IdsOf(int table) const;
  Spec spec_;
  std::vector<Node> nodes_;  // of the spec, with what is looked up
  std::vector<bool> runs_;
  int32_t lanes_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<bool> wants_gradient_;
  bool body_learns_ = false;
  std::vector<const Pooling*> poolings_;
  int body_layers_ = 0;
  bool head_steps_ = false;
  bool head_rows_ = false;
  const Crf* crf_ = nullptr;
  const Ctc* ctc_ = nullptr;
  GradientRoutes routes_;
};

// How many row groups of a batch of so many rows run side by side while it is trained, each with what it holds and a gradient
// of its own: then threads share nothing but the weights. Two, where each gets some rows and a second gradient is little
// memory. It follows from the job alone, because who adds what decides the gradient's last bits.
int GroupsAbreast(const Network& network, int64_t batch_rows);

// Owners of memory, in the order of the plan: every layer by its number, then these. What a second row group beside the first
// holds comes behind all of that, in the same order.
enum class NetworkOwner : int { Blocks, Head, Slots, Batch, Optimizer, Files, Count };

// Keys of the owners beside the layers.
enum HeadKey : int { Losses, Hits, LossGradient, ItemWeights, FirstOutput };
// Blocks and Head: the outputs of their layers by layer number, and behind those the buffers of GradientRoutes.
constexpr int OutputKey(int layer) { return FirstOutput + layer; }
constexpr int GradientKey(int layers, int buffer) { return FirstOutput + layers + buffer; }
enum BatchKey : int {
  SampleNumbers,
  Lengths,
  Inputs,
  RowBuffer,
  EpochNumbers,
  SampleWeights,
  StartState,
  CarriedState,  // of training; and of scores
  ScoredState,
  TargetLengths,
  WindowNumbers,  // of samples among which similar lengths come together
  FirstTargets
};
constexpr int TargetsKey(size_t output) { return FirstTargets + static_cast<int>(output); }
enum OptimizerKey : int { PartialSums, FirstMoment };
// The moments of a layer, 0 and 1, and the running average of its weights, 2.
inline constexpr int kAverage = 2;
constexpr int MomentKey(int layer, int number) { return FirstMoment + 3 * layer + number; }
enum FilesKey : int { WriteBuffer, StartRows, TracePieces, ConfusionCounts, MetricCounts, Examples, TokenCandidates };
inline constexpr int64_t kWriteBufferBytes = 64 * 1024;
inline constexpr int64_t kMostConfusedClasses = 32;  // that a confusion matrix is kept for
inline constexpr int64_t kSumChunk = 16384;          // floats of one partial sum of squares

struct NeedOptions {
  int64_t batch_size = 0;
  int abreast = 1;  // row groups that run side by side
  SampleShape shape;
  bool training = true;          // false: evaluation alone, no gradients, moments or tape beyond a block
  int moments = 2;               // floats that the optimizer keeps for each weight, at most two
  bool averages = false;         // and one for the running average of the weight
  bool touched = false;          // tables note which of their rows a batch has looked up
  int64_t trace_bytes = 0;       // for the pieces of a trace
  bool confusion = true;         // classes that were taken for others are counted, where they are few
  int64_t metric_bytes = 0;      // for what metrics count
  int64_t window = 0;            // samples among which similar lengths come together
  int64_t candidates_bytes = 0;  // of the next token, where text is made
};
std::vector<OwnerNeeds> DeclareNeeds(const Network& network, const NeedOptions& options);

// Every owner's view of the arena, as the row group sees it that lies there.
class NetworkMemory {
 public:
  // first: of the group that this one runs beside; weights, and what else is there but once, are found in its places.
  NetworkMemory(const Network& network, const std::vector<OwnerNeeds>& needs, const Plan& plan, const Arena& arena,
                const NetworkMemory* first = nullptr);
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
  int64_t slice_rows() const { return slice_rows_; }

 private:
  int layers_;
  const NetworkMemory* first_;
  std::vector<int> tables_;  // of each layer: the one that it is tied to, or kNoTable
  std::vector<OwnerMemory> owners_;
  std::vector<StateBuffer> states_;
  int64_t group_rows_ = 0;
  int64_t slice_rows_ = 0;
};

}  // namespace plimsoll
