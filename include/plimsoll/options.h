// options: everything that can be asked of Plimsoll, with defaults. Start reading here.
//   A Job is what the user asked for: task, data, model, training, budget. It is read from TOML or JSON
//   (ReadJob) or filled in by a program. Names and defaults are Keras's where Keras has one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plimsoll/metric.h"
#include "plimsoll/status.h"

namespace plimsoll {

class CustomLayer;  // plimsoll/custom.h
class CustomLoss;
class CustomMetric;

// What is learnt: a class (or several labels) of a sequence; values of a sequence; a class of every step; the next token; the
// next values of a series.
enum class Task { Classify, Regress, Tag, Lm, Forecast };
constexpr bool LearnsClasses(Task task) { return task == Task::Classify || task == Task::Tag || task == Task::Lm; }
constexpr const char* TaskName(Task task) {  // as a job writes it
  constexpr const char* kNames[] = {"classify", "regress", "tag", "lm", "forecast"};
  return kNames[static_cast<int>(task)];
}
enum class DataFormat { Auto, Text, Tsv, Csv, Jsonl, Conll };
enum class TokenKind { Auto, Byte, Char, Word, Ids, Bpe };  // Bpe: byte-pair encoding
enum class Activation { Linear, Relu, Tanh, Sigmoid, Softmax, HardSigmoid, Softsign, Elu, LeakyRelu };
enum class PoolingMode { Last, Mean, Max, State };  // State: of the recurrent layer that it reads, h and then c
enum class MergeMode { Concatenate, Add, Multiply };
// First values of weights, as Keras draws them.
enum class Initializer {
  GlorotUniform,
  GlorotNormal,
  HeUniform,
  HeNormal,
  LecunUniform,
  LecunNormal,
  Orthogonal,
  RandomUniform,    // within 0.05 of 0
  RandomNormal,     // deviation 0.05
  TruncatedNormal,  // the same, nothing beyond 0.1
  Zeros,
  Ones,
  Identity
};

// Where samples come from. A path ending in .npz holds `x`, `y` and optionally `lengths`; a .npy path is `x` alone
// and needs `targets` (and `lengths` where rows end early). "generate:adding?steps=200&samples=10000" makes its own.
// Anything else is text: lines, tables (TSV, CSV), JSON lines, also as .gz and .zst (docs/data.md). It is turned into a Store
// once, which training reads.
struct DataOptions {
  std::string train;
  std::string targets;     // .npy of y, beside a .npy train file
  std::string lengths;     // .npy of lengths, beside a .npy train file
  std::string valid_file;  // the same forms as `train`; empty: none
  std::string valid_targets;
  std::string valid_lengths;
  std::string weights;  // .npy of a weight a sample, beside a .npy train file; a .npz may hold `weights`
  std::string valid_weights;
  std::string initial_state;  // .npy of what State begins with, beside a .npy train file; a .npz may hold `initial_state`
  std::string valid_initial_state;
  double valid_share = 0.0;          // share of `train` kept for validation, chosen by a stable hash of the sample number
  int64_t vocabulary = 0;            // ids lie in [0, vocabulary); 0: the first Embedding's input_dim. Text: most tokens
  std::string target_lengths;        // loss ctc: .npy of labels a target, beside a .npy train file; a .npz may hold it
  std::string valid_target_lengths;  // the same beside a .npy validation file

  // Text alone, from here on.
  std::vector<std::string> train_more = {};  // further files behind `train`: one data set
  std::vector<std::string> valid_more = {};
  DataFormat format = DataFormat::Auto;       // auto: by the file's name, else by its first line
  std::string text = {};                      // column of the text, by its name or its number from 1 on
  std::vector<std::string> label = {};        // column of the label; several: values of a target (regress, forecast)
  std::vector<std::string> inputs = {};       // columns of numbers instead of text
  std::vector<std::string> categories = {};   // columns of a table: a feature for each value, at every step
  std::vector<std::string> dates = {};        // columns of ISO dates: their place in day, week and year, at every step
  std::string series = {};                    // forecast: column that names the series a row belongs to; empty: all are of one
  std::optional<bool> header = std::nullopt;  // of a table; unset: there is one where a column is asked for by a name
  TokenKind tokens = TokenKind::Auto;         // auto: words, and characters for lm
  bool lower = false;                         // words in small letters
  std::string label_separator = {};           // a sample, or a step of tag and lm, may have several labels
  int64_t window = 0;           // lm: steps of a piece of one long text (0: a line is a text); forecast: steps seen
  int64_t horizon = 1;          // forecast: steps to say in advance
  int64_t stride = 1;           // forecast: steps between the beginnings of two samples
  int64_t max_length = 0;       // longer samples are cut to so many steps, and counted; 0: none is
  int64_t skip_bad = 0;         // bad lines that are passed over, counted and listed; one more ends the reading
  std::string dictionary = {};  // a model folder whose vocabulary, labels and scale are used; empty: the data's own
  std::string cache = {};       // folder of Stores; empty: $XDG_CACHE_HOME/plimsoll, else ~/.cache/plimsoll
  bool operator==(const DataOptions&) const = default;
};

struct EmbeddingOptions {
  int64_t input_dim = 0;  // number of ids; 0: taken from the data's vocabulary
  int64_t output_dim = 64;
  Initializer embeddings_initializer = Initializer::RandomUniform;
  double embeddings_l1 = 0.0;  // times the sum of |w|: added to the loss
  double embeddings_l2 = 0.0;  // times the sum of w^2: the same
  std::string weights = {};    // a file of vectors that the table begins with; empty: embeddings_initializer
  bool mask_zero = false;      // id 0 before or behind a row is padding: it ends up in the lengths
  bool operator==(const EmbeddingOptions&) const = default;
};
struct LSTMOptions {
  int64_t units = 128;
  std::optional<bool> return_sequences = std::nullopt;  // unset: as the next layer and the targets need it
  bool use_bias = true;
  Activation activation = Activation::Tanh;               // of the candidate, and of c on its way to h
  Activation recurrent_activation = Activation::Sigmoid;  // of the gates
  bool unit_forget_bias = true;                           // the forget gate's bias begins at 1
  Initializer kernel_initializer = Initializer::GlorotUniform;
  Initializer recurrent_initializer = Initializer::Orthogonal;
  Initializer bias_initializer = Initializer::Zeros;
  double kernel_l1 = 0.0;  // times the sum of |w| of the input's weights: added to the loss
  double kernel_l2 = 0.0;  // times the sum of w^2: the same
  double recurrent_l1 = 0.0;
  double recurrent_l2 = 0.0;
  double bias_l1 = 0.0;
  double bias_l2 = 0.0;
  int64_t proj_size = 0;           // below units: h is a product of so many rows with o act(c); 0: h is o act(c) itself
  double dropout = 0.0;            // share of inputs set to zero while training, the same for all steps of a sequence
  double recurrent_dropout = 0.0;  // the same of h before its products
  bool go_backwards = false;       // each sequence from its end; only of the first layer that knows time
  bool return_state = false;       // NAME_state can be read beside it: the State at the end of a sequence, h and then c
  std::string initial_state = {};  // "data": State begins with each sample's initial_state; empty: with zeros
  bool stateful = false;           // State goes on from batch to batch, row by row
  // Normalises W x, U h and c on its way to h, each over its row (Ba et al. 2016); epsilon is added to the variances.
  bool layer_normalization = false;
  double epsilon = 1e-3;
  bool operator==(const LSTMOptions&) const = default;
};
struct GRUOptions {
  int64_t units = 128;
  std::optional<bool> return_sequences = std::nullopt;
  bool use_bias = true;
  Activation activation = Activation::Tanh;               // of the candidate
  Activation recurrent_activation = Activation::Sigmoid;  // of the gates
  bool reset_after = true;  // the reset gate acts behind its product, as in Keras, cuDNN and PyTorch; false: before it
  Initializer kernel_initializer = Initializer::GlorotUniform;
  Initializer recurrent_initializer = Initializer::Orthogonal;
  Initializer bias_initializer = Initializer::Zeros;
  double kernel_l1 = 0.0;
  double kernel_l2 = 0.0;
  double recurrent_l1 = 0.0;
  double recurrent_l2 = 0.0;
  double bias_l1 = 0.0;
  double bias_l2 = 0.0;
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  bool go_backwards = false;
  bool return_state = false;
  std::string initial_state = {};
  bool stateful = false;
  bool operator==(const GRUOptions&) const = default;
};
struct SimpleRNNOptions {
  int64_t units = 128;
  std::optional<bool> return_sequences = std::nullopt;
  bool use_bias = true;
  Activation activation = Activation::Tanh;
  Initializer kernel_initializer = Initializer::GlorotUniform;
  Initializer recurrent_initializer = Initializer::Orthogonal;
  Initializer bias_initializer = Initializer::Zeros;
  double kernel_l1 = 0.0;
  double kernel_l2 = 0.0;
  double recurrent_l1 = 0.0;
  double recurrent_l2 = 0.0;
  double bias_l1 = 0.0;
  double bias_l2 = 0.0;
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  bool go_backwards = false;
  bool return_state = false;
  std::string initial_state = {};
  bool stateful = false;
  bool operator==(const SimpleRNNOptions&) const = default;
};
struct PoolingOptions {
  PoolingMode mode = PoolingMode::Last;
  bool operator==(const PoolingOptions&) const = default;
};
struct DenseOptions {
  int64_t units = 0;  // 0: the width that the task asks for (the last layer only)
  Activation activation = Activation::Linear;
  Initializer kernel_initializer = Initializer::GlorotUniform;
  Initializer bias_initializer = Initializer::Zeros;
  double kernel_l1 = 0.0;
  double kernel_l2 = 0.0;
  double bias_l1 = 0.0;
  double bias_l2 = 0.0;
  std::string tied_to = {};  // the Embedding whose table is the kernel: one tensor with one gradient; empty: its own kernel
  bool operator==(const DenseOptions&) const = default;
};
struct ActivationOptions {
  Activation activation = Activation::Relu;
  bool operator==(const ActivationOptions&) const = default;
};
struct LayerNormalizationOptions {
  double epsilon = 1e-3;
  bool operator==(const LayerNormalizationOptions&) const = default;
};
struct DropoutOptions {
  double rate = 0.5;     // share of inputs set to zero while training; the mask is generated again, never stored
  bool spatial = false;  // one mask for all steps of a sequence: a unit is there or not (SpatialDropout1D)
  bool operator==(const DropoutOptions&) const = default;
};

struct MergeOptions {
  MergeMode mode = MergeMode::Concatenate;
  bool operator==(const MergeOptions&) const = default;
};
// A convolution over time that looks back alone ("causal" in Keras).
struct Conv1DOptions {
  int64_t filters = 64;
  int64_t kernel_size = 3;    // steps that it looks at
  int64_t dilation_rate = 1;  // how far apart they lie
  Activation activation = Activation::Linear;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::GlorotUniform;
  Initializer bias_initializer = Initializer::Zeros;
  double kernel_l1 = 0.0;
  double kernel_l2 = 0.0;
  double bias_l1 = 0.0;
  double bias_l2 = 0.0;
  bool operator==(const Conv1DOptions&) const = default;
};
// The first layer: steps of nothing but this value, before or behind a row, are padding. It ends up in the lengths.
struct MaskingOptions {
  double mask_value = 0.0;
  bool operator==(const MaskingOptions&) const = default;
};
// A linear chain over the tags that the Dense before it scores: the last layer of a tagger, with a loss of its own.
struct CRFOptions {
  bool operator==(const CRFOptions&) const = default;
};
// What the loss ctc is inside a model, behind the last Dense. The spec puts it there; it is not a layer to list.
struct CTCOptions {
  int64_t longest = 0;  // labels of the longest target
  bool operator==(const CTCOptions&) const = default;
};
// A layer that the program brings along. A job file knows it by its name alone, and only that program can run it.
struct CustomOptions {
  std::string function;
  std::shared_ptr<const CustomLayer> layer = nullptr;
  bool operator==(const CustomOptions&) const = default;
};

using LayerKind = std::variant<EmbeddingOptions, LSTMOptions, GRUOptions, SimpleRNNOptions, PoolingOptions, DenseOptions,
                               ActivationOptions, LayerNormalizationOptions, DropoutOptions, MergeOptions, CRFOptions,
                               CustomOptions, Conv1DOptions, MaskingOptions, CTCOptions>;
inline constexpr const char* kInputName = "input";  // the data, among a layer's inputs
struct LayerOptions {
  std::string name;  // empty: the type in lower case with a counter (lstm, lstm_1)
  LayerKind kind;
  std::vector<std::string> inputs = {};  // names of layers listed before; empty: the layer before, of the first one the data
  bool trainable = true;                 // false: the weights stay as they begin, and cost neither gradient nor moments
  bool operator==(const LayerOptions&) const = default;
};

enum class Loss {
  Auto,
  SparseCategoricalCrossentropy,
  CategoricalCrossentropy,
  BinaryCrossentropy,
  MeanSquaredError,
  MeanAbsoluteError,
  Huber,
  Crf,
  Custom,
  Ctc
};
enum class OptimizerKind { Adam, AdamW, Sgd, RmsProp, Adagrad, LazyAdam };
// What is looked at behind each epoch, by early stopping, the plateau schedule and the choice of the best epoch.
enum class Monitor { Auto, Loss, Accuracy, ValLoss, ValAccuracy, ValLabelErrorRate, FirstMetric };
// A metric of the validation data as what is looked at; one for each, from FirstMetric on.
constexpr Monitor MonitorOf(Metric metric) {
  return static_cast<Monitor>(static_cast<int>(Monitor::FirstMetric) + static_cast<int>(metric));
}
constexpr std::optional<Metric> MetricOf(Monitor monitor) {
  if (monitor < Monitor::FirstMetric) return std::nullopt;
  return static_cast<Metric>(static_cast<int>(monitor) - static_cast<int>(Monitor::FirstMetric));
}
enum class LrSchedule { Constant, Linear, Cosine, Polynomial, InverseSqrt, Step, Exponential, OneCycle, Plateau };
struct TrainOptions {
  int64_t batch_size = 32;  // sequences one update covers
  // Instead of batch_size: as many sequences as have together at most so many steps, a longer one alone. 0: off
  int64_t batch_tokens = 0;
  int64_t length_window = 0;  // similar lengths come together among so many samples of the shuffled order; 0: off
  int64_t epochs = 1;
  int64_t max_steps = 0;                  // updates; 0: no limit
  Loss loss = Loss::Auto;                 // auto: sparse_categorical_crossentropy to classify, mean_squared_error to regress
  double label_smoothing = 0.0;           // the crossentropies: share of a target that is spread over all classes
  double huber_delta = 1.0;               // huber: where the parabola ends
  std::vector<double> class_weight = {};  // classify: what an item of each class counts in training; empty: all alike
  std::shared_ptr<const CustomLoss> custom_loss = nullptr;  // with Loss::Custom; not in job files
  std::shared_ptr<CustomMetric> custom_metric = nullptr;    // of every score; not in job files
  // Figures of every score; unset: as the task asks (docs/training.md). What is monitored is among them anyway.
  std::optional<std::vector<Metric>> metrics = std::nullopt;
  int64_t top_k = 5;  // top_k_accuracy: a hit is among so many largest outputs
  OptimizerKind optimizer = OptimizerKind::Adam;
  std::optional<double> learning_rate = std::nullopt;  // unset: 0.01 for sgd, 0.001 for the others
  double beta_1 = 0.9;                                 // the adams
  double beta_2 = 0.999;                               // the adams
  double epsilon = 1e-7;                               // all but sgd
  double weight_decay = 0.004;                         // adamw; biases are left out of it
  double momentum = 0.0;                               // sgd; above 0 it costs a moment a weight
  bool nesterov = false;                               // sgd with momentum
  double rho = 0.9;                                    // rmsprop
  double initial_accumulator_value = 0.1;              // adagrad
  double clip_norm = 0.0;                              // global norm of the whole batch's gradient; 0: off
  double clip_value = 0.0;                             // each element of the gradient; 0: off. One of the three clips
  LrSchedule lr_schedule = LrSchedule::Constant;
  int64_t warmup_steps = 0;    // updates in which the learning rate rises from 0
  double lr_end_factor = 0.0;  // linear, cosine, polynomial: the last rate, as a share of learning_rate
  double lr_power = 1.0;       // polynomial
  double lr_decay_rate = 0.1;  // step, exponential: the factor of lr_decay_steps updates
  int64_t lr_decay_steps = 0;  // 0: a third of the updates behind the warm-up
  bool use_ema = false;        // scores and the saved model are of a running average of the weights; costs a float a weight
  double ema_momentum = 0.99;  // share of the average that stays at each update
  int64_t truncate = 0;        // steps after which backpropagation forgets what follows; State is carried on. 0: exact
  bool shuffle = true;
  uint64_t seed = 1;
  int64_t threads = 0;              // 0: all cores
  double clip_tensor_norm = 0.0;    // norm of each weight tensor's gradient; 0: off. One of the three clips
  double plateau_factor = 0.1;      // plateau: what the rate is multiplied with
  int64_t plateau_patience = 10;    // plateau: epochs without a better loss before that
  double plateau_min_delta = 1e-4;  // plateau: a loss is better where it is lower by more than this
  double plateau_min_lr = 0.0;      // plateau: the rate falls no further
  Monitor monitor = Monitor::Auto;  // auto: val_loss where there is validation, else loss
  int64_t patience = 0;             // epochs in a row without a better `monitor` after which training ends; 0: off
  double min_delta = 0.0;           // patience: what is better is so by more than this
  std::optional<bool> restore_best = std::nullopt;  // the model is that of the best epoch; unset: as patience is there
  bool skip_nonfinite = false;                      // an update whose loss or gradient is not finite is left out, a few times
  std::string save_every = "10m";  // between two snapshots: "30s", "10m", "2h", or a number of updates; 0: at the end alone
  int64_t keep = 2;                // snapshots that stay, beside that of the best epoch
  bool operator==(const TrainOptions&) const = default;
};

struct MemoryOptions {
  std::string budget = "auto";  // bytes, 256MB, 512MiB, 80%, auto
  std::string spill;            // a folder on a real disk: State kept for recompute may go to a file there; empty: no
  int64_t max_recompute = 3;    // times a block may be run again, at most
  bool operator==(const MemoryOptions&) const = default;
};

// One of several outputs: a Dense with targets and a loss of its own. The loss of the job is the sum of loss_weight times loss.
struct OutputOptions {
  std::string layer;         // its name
  std::string targets = {};  // the array of the .npz that holds its targets; empty: "y_LAYER"
  Loss loss = Loss::Auto;    // auto: as in TrainOptions, whole numbers being classes
  double loss_weight = 1.0;
  bool operator==(const OutputOptions&) const = default;
};

struct Job {
  Task task = Task::Classify;
  DataOptions data;
  std::vector<LayerOptions> layers;
  TrainOptions train;
  MemoryOptions memory;
  std::string init_from;                    // a model folder whose weights are the start; empty: fresh weights
  std::vector<OutputOptions> outputs = {};  // empty: the last layer alone, with the data's y and train.loss
  bool operator==(const Job&) const = default;
};

// Whether targets are class numbers; else values, as those of several labels a sample are: 1 for each that it has.
inline bool HasClassTargets(const Job& job) { return LearnsClasses(job.task) && job.data.label_separator.empty(); }

// One key = value from the command line ("train.epochs", "5"); the value is read as TOML, else taken as text.
struct JobOverride {
  std::string key;
  std::string value;
};

// Reads a job file (.toml or .json by content), then applies the overrides. With an empty path the job is made of
// defaults and overrides alone. Unknown keys, wrong types and values out of range are refused with file, line and key.
Result<Job> ReadJob(const std::string& path, const std::vector<JobOverride>& overrides);

// The complete job as TOML, defaults included; ReadJob of it gives the same job.
std::string JobAsToml(const Job& job);

// Checks a memory text of the user's: "256MB" and the like. "auto" and "80%" need the machine and pass.
Status CheckMemoryText(const std::string& text);

}  // namespace plimsoll
