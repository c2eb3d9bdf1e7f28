// spec: the model that a job asks for, as a graph of layers with every width known.
//   in:    the job's layer list, what the data look like
//   out:   nodes in the order of calculation; anything left open in the job (the head's width, the vocabulary,
//          return_sequences) is decided here, and what does not fit is refused with the layer's name
// Canonical tensors of a node (files, reference and tests know weights by these):
//   Embedding  NAME.weight [input_dim, output_dim]
//   LSTM       NAME.weight_ih [4 units, inputs], NAME.weight_hh [4 units, units], NAME.bias [4 units]; row blocks i, f, g, o
//              with proj_size NAME.weight_hh [4 units, proj_size], and last NAME.weight_hr [proj_size, units]
//              with layer_normalization last NAME.norm_ih_weight, .norm_ih_bias, .norm_hh_weight, .norm_hh_bias [4 units]
//              and NAME.norm_c_weight, .norm_c_bias [units]: gamma and beta of W x, of U h and of c
//   GRU        the same with 3 units, row blocks z, r, n; with reset_after NAME.bias_ih and NAME.bias_hh instead of one bias
//   SimpleRNN  the same with 1 units
//   (without use_bias: no bias)
//   LayerNormalization  NAME.weight [width], NAME.bias [width]: gamma and beta
//   Dense      NAME.weight [units, inputs], NAME.bias [units]; with tied_to the bias alone
//   Conv1D     NAME.weight [filters, kernel_size inputs], the oldest step first, NAME.bias [filters] with use_bias
//   Custom     as the program's layer says
//   CRF        NAME.transitions [tags, tags] from a row's tag to a column's, NAME.start [tags], NAME.end [tags]
//   CTC        none
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/samples.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr int kModelInput = -1;
inline constexpr int kNoTable = -1;
struct Node {
  std::string name;
  LayerKind kind;            // resolved: no zero widths are left
  std::vector<int> inputs;   // node numbers; kModelInput is the batch itself
  int64_t in_width = 0;      // ids: 1
  int64_t width = 0;         // of the output
  bool trainable = true;     // its weights, where it has some, learn
  bool per_step = true;      // the output has one row a step; false behind a pooling layer: one row a sample
  bool implied = false;      // an option of the layer before it made it
  int64_t state_place = -1;  // among the values that State begins with; -1: with zeros
  int table = kNoTable;      // Dense with tied_to: the Embedding whose table is its kernel
};

// Where a loss is taken: a node that nobody reads, and the targets that it is compared with.
struct ModelOutput {
  int node = 0;
  Loss loss = Loss::SparseCategoricalCrossentropy;  // never Auto
  double weight = 1.0;                              // what its loss counts in the sum
  bool per_step = false;                            // one target a step; else one a sample
  int64_t width = 1;                                // classes, or values a target
  bool class_targets() const { return loss == Loss::SparseCategoricalCrossentropy || loss == Loss::Crf || loss == Loss::Ctc; }
  // With loss ctc outputs have steps and targets have not.
  bool per_step_outputs() const { return per_step || loss == Loss::Ctc; }
};

struct Spec {
  bool id_input = false;
  int64_t input_width = 1;           // features a step; 1 for ids
  int64_t vocabulary = 0;            // with id_input
  std::vector<Node> nodes;           // a node's inputs come before it
  std::vector<ModelOutput> outputs;  // at least one; as the job lists them
  bool reversed = false;             // each sequence is read from its end; outputs are in that order, targets are not
  double label_smoothing = 0.0;
  double huber_delta = 1.0;
  int64_t truncate = 0;                           // steps; 0: gradients are exact
  std::shared_ptr<const CustomLoss> custom_loss;  // with Loss::Custom
  bool weighted = false;                          // samples have weights
  std::vector<float> class_weight;                // what an item of each class counts in training; empty: all alike
  int64_t state_width = 0;                        // values of a row that State begins with; 0: zeros everywhere
  bool carried = false;                           // they are what the batch before ended with; else the data have them
  int64_t carried_width() const { return carried ? state_width : 0; }
  // The first: all there is, unless the job lists several.
  const ModelOutput& output() const { return outputs.front(); }
};

// A recurrent layer that returns only its last state becomes the layer and a Pooling node "NAME_last" behind it, and one with
// return_state has a Pooling node "NAME_state" behind it. With loss ctc a CTC node "NAME_ctc" stands behind the last Dense.
// For classify the last Dense gives logits: its activation may be linear or softmax, and the loss applies the softmax. With
// binary_crossentropy the same of sigmoid.
Result<Spec> MakeSpec(const Job& job, const SampleShape& shape);
// What MakeSpec refuses of [[outputs]] whatever the data are, so that it is known before they are opened.
Status CheckOutputs(const Job& job);

struct TensorShape {
  std::string name;
  std::vector<int64_t> shape;
  double l1 = 0.0;  // the loss has l1 sum |w| + l2 sum w^2 of it
  double l2 = 0.0;
};
// The canonical tensors of a node, and of the model in node order.
std::vector<TensorShape> CanonicalTensors(const Node& node);
std::vector<TensorShape> CanonicalTensors(const Spec& spec);

}  // namespace plimsoll
