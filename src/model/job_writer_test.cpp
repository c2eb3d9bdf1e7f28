#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/random.h"
#include "model/layer_kinds.h"
#include "model/train_options.h"
#include "plimsoll/options.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// A learning rate that was left to the optimizer is written out.
bool Same(Job a, Job b) {
  for (Job* job : {&a, &b}) job->train.learning_rate = LearningRateOf(job->train);
  return a == b;
}

// Draws jobs of every shape that the schema allows. Paths are absolute, because that is how they are written.
class RandomJobs {
 public:
  explicit RandomJobs(uint64_t round) : random_(SeedFor(7, RandomUse::Test), round) {}

  Job Draw() {
    Job job;
    job.task = Coin() ? Task::Classify : Task::Regress;
    job.init_from = Path();
    job.data.train = Coin() ? "generate:adding?steps=200&samples=10000" : Path();
    job.data.targets = Path();
    job.data.lengths = Path();
    job.data.valid_targets = Path();
    job.data.weights = Path();
    job.data.valid_weights = Path();
    job.data.initial_state = Path();
    job.data.valid_initial_state = Path();
    job.data.valid_lengths = Path();
    job.data.target_lengths = Path();
    job.data.valid_target_lengths = Path();
    if (Coin()) {
      job.data.valid_share = random_.Unit();
    } else {
      job.data.valid_file = Path();
    }
    job.data.vocabulary = Int(0, 2147483647);
    const int64_t layers = Int(0, 6);
    for (int64_t i = 0; i < layers; ++i) {
      job.layers.push_back({.name = Coin() ? "" : Words(), .kind = Kind()});
      for (int64_t inputs = Int(0, 3); inputs > 0; --inputs) job.layers.back().inputs.push_back(Words());
      const bool weights = std::visit([]<typename T>(const T&) { return WeightedOptions<T>; }, job.layers.back().kind);
      job.layers.back().trainable = !weights || Coin();
    }
    job.train = {.batch_size = Int(1, 65536),
                 .epochs = Int(1, 1'000'000'000),
                 .max_steps = Int(0, 1'000'000'000'000),
                 .loss = static_cast<Loss>(random_.Below(10)),
                 .label_smoothing = random_.Unit(),
                 .huber_delta = Tiny(),
                 .class_weight = Coin() ? std::vector<double>{} : std::vector<double>{Tiny(), 0.0, Tiny()},
                 .metrics = Coin() ? std::nullopt : std::optional(std::vector{static_cast<Metric>(random_.Below(kMetrics))}),
                 .top_k = Int(1, 65536),
                 .optimizer = static_cast<OptimizerKind>(random_.Below(6)),
                 .learning_rate = Coin() ? std::nullopt : std::optional(Tiny()),
                 .beta_1 = random_.Unit(),
                 .beta_2 = 1.0 - Tiny() * 0.5,
                 .epsilon = Tiny(),
                 .weight_decay = Tiny(),
                 .momentum = random_.Unit(),
                 .nesterov = Coin(),
                 .rho = random_.Unit(),
                 .initial_accumulator_value = Tiny(),
                 .clip_norm = Coin() ? 0.0 : 1.0 / Tiny(),
                 .clip_value = Coin() ? 0.0 : Tiny(),
                 .lr_schedule = static_cast<LrSchedule>(random_.Below(9)),
                 .warmup_steps = Int(0, 1'000'000),
                 .lr_end_factor = random_.Unit(),
                 .lr_power = Tiny(),
                 .lr_decay_rate = Tiny(),
                 .lr_decay_steps = Int(0, 1'000'000),
                 .use_ema = Coin(),
                 .ema_momentum = random_.Unit(),
                 .truncate = Int(0, 1000),
                 .shuffle = Coin(),
                 .seed = static_cast<uint64_t>(random_.Word()) << 32 | random_.Word(),
                 .threads = Int(0, 256),
                 .clip_tensor_norm = Coin() ? 0.0 : Tiny(),
                 .plateau_factor = random_.Unit(),
                 .plateau_patience = Int(0, 1'000'000'000),
                 .plateau_min_delta = Tiny(),
                 .plateau_min_lr = Tiny(),
                 .monitor = Coin() ? static_cast<Monitor>(random_.Below(6)) : MonitorOf(Metric::EntityF1),
                 .patience = Int(0, 1'000'000'000),
                 .min_delta = Tiny(),
                 .restore_best = Coin() ? std::nullopt : std::optional(Coin()),
                 .skip_nonfinite = Coin(),
                 .save_every = Coin() ? "1.5h" : "250",
                 .keep = Int(2, 1000)};
    for (int64_t outputs = Int(0, 3); outputs > 0; --outputs) {
      job.outputs.push_back({.layer = Words(),
                             .targets = Coin() ? "" : Words(),
                             .loss = static_cast<Loss>(random_.Below(9)),
                             .loss_weight = Tiny()});
    }
    constexpr std::array kBudgets = {"auto", "80%", "256MB", "512 MiB", "268435456", "1.5GB"};
    job.memory = {.budget = kBudgets[random_.Below(kBudgets.size())], .spill = Path(), .max_recompute = Int(0, 1000)};
    return job;
  }

 private:
  bool Coin() { return random_.Below(2) == 0; }
  int64_t Int(int64_t min, int64_t max) {
    return min + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(max - min + 1)));
  }
  double Tiny() { return std::ldexp(0.5 + 0.5 * random_.Unit(), -static_cast<int>(random_.Below(28))); }
  std::string Words() {
    constexpr std::string_view kLetters = "ab z09_-.#\"\\'\t\n\x01\x7f[]{}=";
    std::string words;
    for (int64_t i = Int(1, 12); i > 0; --i) words += Coin() ? "é" : std::string(1, kLetters[random_.Below(kLetters.size())]);
    return words;
  }
  std::string Path() { return Coin() ? "" : "/data/" + Words(); }
  Initializer Start() { return static_cast<Initializer>(random_.Below(13)); }
  template <typename Options>
  Options Recurrent(Options options) {
    options.units = Int(1, 65536);
    options.use_bias = Coin();
    options.kernel_initializer = Start();
    options.recurrent_initializer = Start();
    options.bias_initializer = Start();
    options.kernel_l1 = Tiny();
    options.kernel_l2 = Tiny();
    options.recurrent_l1 = Tiny();
    options.recurrent_l2 = Tiny();
    options.bias_l1 = Tiny();
    options.bias_l2 = Tiny();
    options.activation = static_cast<Activation>(random_.Below(9));
    if constexpr (requires { options.recurrent_activation; }) {
      options.recurrent_activation = static_cast<Activation>(random_.Below(9));
    }
    if (Coin()) options.return_sequences = Coin();
    options.go_backwards = Coin();
    options.return_state = Coin();
    options.initial_state = Coin() ? "" : "data";
    options.stateful = Coin();
    options.dropout = Coin() ? 0.0 : random_.Unit();
    options.recurrent_dropout = Coin() ? 0.0 : random_.Unit();
    return options;
  }
  LayerKind Kind() {
    switch (random_.Below(12)) {
      case 0:
        return EmbeddingOptions{.input_dim = Int(0, 2147483647),
                                .output_dim = Int(1, 65536),
                                .embeddings_initializer = Start(),
                                .embeddings_l1 = Tiny(),
                                .embeddings_l2 = Tiny(),
                                .weights = Path()};
      case 1:
        return Recurrent(LSTMOptions{.unit_forget_bias = Coin(),
                                     .proj_size = Coin() ? 0 : Int(1, 65536),
                                     .layer_normalization = Coin(),
                                     .epsilon = Tiny()});
      case 4:
        return Recurrent(GRUOptions{.reset_after = Coin()});
      case 5:
        return Recurrent(SimpleRNNOptions{});
      case 2:
        return PoolingOptions{.mode = static_cast<PoolingMode>(random_.Below(3))};
      case 3:
        return DenseOptions{.units = Int(0, 65536),
                            .activation = static_cast<Activation>(random_.Below(9)),
                            .kernel_initializer = Start(),
                            .bias_initializer = Start(),
                            .kernel_l1 = Tiny(),
                            .kernel_l2 = Tiny(),
                            .bias_l1 = Tiny(),
                            .bias_l2 = Tiny(),
                            .tied_to = Coin() ? "" : Words()};
      case 6:
        return ActivationOptions{.activation = static_cast<Activation>(random_.Below(9))};
      case 7:
        return LayerNormalizationOptions{.epsilon = Tiny()};
      case 10:
        return Conv1DOptions{.filters = Int(1, 65536),
                             .kernel_size = Int(1, 1024),
                             .dilation_rate = Int(1, 65536),
                             .activation = static_cast<Activation>(random_.Below(9)),
                             .use_bias = Coin(),
                             .kernel_initializer = Start(),
                             .bias_l2 = Tiny()};
      case 9:
        return CRFOptions{};
      case 8:
        return MergeOptions{.mode = static_cast<MergeMode>(random_.Below(3))};
      default:
        return DropoutOptions{.rate = random_.Unit(), .spatial = Coin()};
    }
  }

  RandomSequence random_;
};

class JobAsTomlTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "plimsoll_toml_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  Result<Job> ReadBack(const std::string& toml) {
    const fs::path path = folder_ / "job.toml";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << toml;
    return ReadJob(path.string(), {});
  }
  fs::path folder_;
};

TEST_F(JobAsTomlTest, ReadsBackAsTheSameJob) {
  for (uint64_t round = 0; round < 300; ++round) {
    const Job job = RandomJobs(round).Draw();
    const std::string toml = JobAsToml(job);
    const Result<Job> back = ReadBack(toml);
    ASSERT_TRUE(back.ok()) << "round " << round << ": " << back.status().message() << "\n" << toml;
    ASSERT_TRUE(Same(job, back.value())) << "round " << round << "\n" << toml << "\nread back as\n" << JobAsToml(back.value());
  }
}

TEST_F(JobAsTomlTest, TheDefaultsReadBackAsTheDefaults) {
  const Result<Job> back = ReadBack(JobAsToml(Job{}));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(Same(Job{}, back.value()));
}

TEST_F(JobAsTomlTest, ARelativePathIsWrittenAbsoluteSoThatTheFileCanBePutAnywhere) {
  Job job;
  job.data.train = "x.npz";
  const Result<Job> back = ReadBack(JobAsToml(job));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back.value().data.train, (fs::current_path() / "x.npz").string());
}

TEST_F(JobAsTomlTest, KeysOfTextComeBackAsTheyWere) {
  Job job;
  job.task = Task::Forecast;
  job.data.train = "/data/a.csv";
  job.data.train_more = {"/data/b.csv", "/data/c.csv.gz"};
  job.data.valid_file = "/data/v.csv";
  job.data.valid_more = {"/data/w.csv"};
  job.data.format = DataFormat::Csv;
  job.data.label = {"load", "2"};
  job.data.inputs = {"a \"quoted\" name"};
  job.data.categories = {"store", "4"};
  job.data.dates = {"day"};
  job.data.series = "3";
  job.data.header = true;
  job.data.tokens = TokenKind::Char;
  job.data.lower = true;
  job.data.label_separator = ";";
  job.data.window = 48;
  job.data.horizon = 3;
  job.data.stride = 2;
  job.data.max_length = 100;
  job.data.skip_bad = 7;
  job.data.dictionary = "/models/old";
  job.data.cache = "/cache";
  job.train.batch_tokens = 4096;
  job.train.length_window = 1024;
  job.layers = {{.name = "", .kind = DenseOptions{}}};
  const Result<Job> back = ReadBack(JobAsToml(job));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back.value().data, job.data);
  EXPECT_EQ(back.value().task, job.task);
  EXPECT_EQ(back.value().train.batch_tokens, 4096);
  EXPECT_EQ(back.value().train.length_window, 1024);
}

TEST_F(JobAsTomlTest, NamesEveryKeyWithALineAboutIt) {
  Job job;
  job.layers = {{.name = "", .kind = LSTMOptions{.units = 8, .return_sequences = {}}}};
  const std::string toml = JobAsToml(job);
  EXPECT_NE(toml.find("task = \"classify\"                  # classify, regress, tag, lm or forecast\n"), std::string::npos)
      << toml;
  EXPECT_NE(toml.find("[[model.layers]]\ntype = \"LSTM\"\nunits = 8 "), std::string::npos) << toml;
  EXPECT_NE(toml.find("learning_rate = 0.001 "), std::string::npos) << toml;
  EXPECT_NE(toml.find("clip_norm = 0.0 "), std::string::npos) << toml;
  EXPECT_NE(toml.find("budget = \"auto\" "), std::string::npos) << toml;
}

}  // namespace
}  // namespace plimsoll
