#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "plimsoll/options.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test, gone behind it.
class ReadJobTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "plimsoll_job_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& text, const std::string& name = "job.toml") {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  Result<Job> Read(const std::string& text, const std::vector<JobOverride>& overrides = {}) {
    return ReadJob(Write(text), overrides);
  }
  // The message and the hint, without the folder.
  std::string Complaint(const std::string& text, const std::vector<JobOverride>& overrides = {}) {
    const Result<Job> job = Read(text, overrides);
    if (job.ok()) return "no complaint";
    EXPECT_EQ(job.status().kind(), StatusKind::Usage);
    std::string said = job.status().message() + " | " + job.status().hint();
    const std::string prefix = folder_.string() + "/";
    for (size_t at = said.find(prefix); at != std::string::npos; at = said.find(prefix)) said.erase(at, prefix.size());
    return said;
  }

  fs::path folder_;
};

constexpr const char* kWholeJob = R"(
task = "classify"
init_from = "old/model"

[data]
train = "reviews.npz"
valid = 0.1
vocabulary = 20000

[[model.layers]]
type = "Embedding"
output_dim = 128
[[model.layers]]
type = "LSTM"
name = "reader"
units = 96
return_sequences = true
[[model.layers]]
type = "Pooling"
mode = "mean"
[[model.layers]]
type = "Dropout"
rate = 0.25
[[model.layers]]
type = "Dense"
activation = "softmax"

[train]
batch_size = 64
epochs = 5
max_steps = 100
optimizer = "adam"
learning_rate = 2e-3
beta_1 = 0.8
beta_2 = 0.99
epsilon = 1e-8
clip_norm = 1
shuffle = false
seed = 7
threads = 2

[memory]
budget = "256MB"
)";

void ExpectWholeJob(const Job& job) {
  EXPECT_EQ(job.task, Task::Classify);
  EXPECT_EQ(job.data.valid_share, 0.1);
  EXPECT_EQ(job.data.vocabulary, 20000);
  ASSERT_EQ(job.layers.size(), 5u);
  EXPECT_EQ(std::get<EmbeddingOptions>(job.layers[0].kind).output_dim, 128);
  EXPECT_EQ(job.layers[1].name, "reader");
  EXPECT_EQ(std::get<LSTMOptions>(job.layers[1].kind).units, 96);
  EXPECT_EQ(std::get<LSTMOptions>(job.layers[1].kind).return_sequences, true);
  EXPECT_EQ(std::get<PoolingOptions>(job.layers[2].kind).mode, PoolingMode::Mean);
  EXPECT_EQ(std::get<DropoutOptions>(job.layers[3].kind).rate, 0.25);
  EXPECT_EQ(std::get<DenseOptions>(job.layers[4].kind).units, 0);
  EXPECT_EQ(std::get<DenseOptions>(job.layers[4].kind).activation, Activation::Softmax);
  EXPECT_EQ(job.train.batch_size, 64);
  EXPECT_EQ(job.train.epochs, 5);
  EXPECT_EQ(job.train.max_steps, 100);
  EXPECT_EQ(job.train.learning_rate, 2e-3);
  EXPECT_EQ(job.train.beta_1, 0.8);
  EXPECT_EQ(job.train.beta_2, 0.99);
  EXPECT_EQ(job.train.epsilon, 1e-8);
  EXPECT_EQ(job.train.clip_norm, 1.0);
  EXPECT_FALSE(job.train.shuffle);
  EXPECT_EQ(job.train.seed, 7u);
  EXPECT_EQ(job.train.threads, 2);
  EXPECT_EQ(job.memory.budget, "256MB");
}

TEST_F(ReadJobTest, ReadsEveryKeyOfATomlFile) {
  const Result<Job> job = Read(kWholeJob);
  ASSERT_TRUE(job.ok()) << job.status().message();
  ExpectWholeJob(job.value());
}

TEST_F(ReadJobTest, ReadsTheSameKeysFromJson) {
  const Result<Job> job = Read(R"( {
    "task": "classify", "init_from": "old/model",
    "data": {"train": "reviews.npz", "valid": 0.1, "vocabulary": 20000},
    "model": {"layers": [{"type": "Embedding", "output_dim": 128},
                         {"type": "LSTM", "name": "reader", "units": 96, "return_sequences": true},
                         {"type": "Pooling", "mode": "mean"}, {"type": "Dropout", "rate": 0.25},
                         {"type": "Dense", "activation": "softmax"}]},
    "train": {"batch_size": 64, "epochs": 5, "max_steps": 100, "optimizer": "Adam", "learning_rate": 0.002, "beta_1": 0.8,
              "beta_2": 0.99, "epsilon": 1e-8, "clip_norm": 1, "shuffle": false, "seed": 7, "threads": 2},
    "memory": {"budget": "256MB"}
  })");
  ASSERT_TRUE(job.ok()) << job.status().message();
  ExpectWholeJob(job.value());
}

TEST_F(ReadJobTest, AnEmptyFileAndNoFileAreTheDefaults) {
  for (const auto& job : {Read(""), Read("# nothing\n"), Read("{}"), ReadJob("", {})}) {
    ASSERT_TRUE(job.ok()) << job.status().message();
    EXPECT_EQ(job.value().train.batch_size, TrainOptions{}.batch_size);
    EXPECT_TRUE(job.value().layers.empty());
    EXPECT_EQ(job.value().memory.budget, "auto");
  }
}

TEST_F(ReadJobTest, PathsAreRelativeToTheFileAndOverridesToTheWorkingDirectory) {
  const std::string text =
      "init_from = \"m\"\n[data]\ntrain = \"a/x.npy\"\ntargets = \"/abs/y.npy\"\nlengths = \"../l.npy\"\nvalid = \"v.npz\"\n";
  Result<Job> job = Read(text);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->data.train, (folder_ / "a/x.npy").string());
  EXPECT_EQ(job->data.targets, "/abs/y.npy");
  EXPECT_EQ(job->data.lengths, (folder_.parent_path() / "l.npy").string());
  EXPECT_EQ(job->data.valid_file, (folder_ / "v.npz").string());
  EXPECT_EQ(job->init_from, (folder_ / "m").string());

  job = Read(text, {{"data.train", "b/x.npy"}, {"data.valid", "w.npz"}, {"init_from", ""}});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->data.train, "b/x.npy");
  EXPECT_EQ(job->data.valid_file, "w.npz");
  EXPECT_EQ(job->init_from, "");
}

TEST_F(ReadJobTest, MetricsAreAListOfNamesEachOnce) {
  EXPECT_EQ(*Read("[train]\nmetrics = [\"F1_macro\", \"mean_absolute_error\"]\nmonitor = \"val_f1_macro\"")->train.metrics,
            (std::vector{Metric::F1Macro, Metric::Mae}));
  EXPECT_EQ(Read("[train]\nmonitor = \"val_f1_macro\"")->train.monitor, MonitorOf(Metric::F1Macro));
  EXPECT_EQ(Read("[train]\nmonitor = \"val_accuracy\"")->train.monitor, Monitor::ValAccuracy);
  EXPECT_FALSE(Read("[train]\nepochs = 2")->train.metrics.has_value());
  EXPECT_TRUE(Read("[train]\nmetrics = []")->train.metrics->empty());
  EXPECT_NE(Complaint("[train]\nmetrics = [\"f1_marco\"]").find("did you mean 'f1_macro'"), std::string::npos);
  EXPECT_NE(Complaint("[train]\nmetrics = [\"mae\", \"mean_absolute_error\"]").find("once"), std::string::npos);
  EXPECT_NE(Complaint("[train]\nmetrics = \"mae\"").find("a list of names"), std::string::npos);
}

TEST_F(ReadJobTest, TextMayBeInAnyLanguage) {
  Result<Job> job = Read(
      "\xEF\xBB\xBF# ключ\n[data]\ntrain = \"/d/é \\\"ü\\\" 数.npz\" # é\ntargets = '/d/é\\'\nlengths = \"\"\"/d/\\\né\"\"\"\n",
      {{"data.valid", "é.npz"}});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->data.train, "/d/é \"ü\" 数.npz");
  EXPECT_EQ(job->data.targets, "/d/é\\");
  EXPECT_EQ(job->data.lengths, "/d/é");
  EXPECT_EQ(job->data.valid_file, "é.npz");
}

TEST_F(ReadJobTest, AGeneratorIsNotAPath) {
  Result<Job> job = Read("[data]\ntrain = \"generate:adding?steps=200&samples=10000\"\n");
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->data.train, "generate:adding?steps=200&samples=10000");
}

TEST_F(ReadJobTest, AValidationShareAndAValidationFileReplaceEachOther) {
  Result<Job> job = Read("[data]\nvalid = \"v.npz\"\n", {{"data.valid", "0.2"}});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->data.valid_file, "");
  EXPECT_EQ(job->data.valid_share, 0.2);
  job = Read("[data]\nvalid = 0.2\n", {{"data.valid", "v.npz"}});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->data.valid_file, "v.npz");
  EXPECT_EQ(job->data.valid_share, 0.0);
}

TEST_F(ReadJobTest, OverridesAreReadAsTomlElseAsText) {
  Result<Job> job = ReadJob("", {{"task", "regress"},
                                 {"data.train", "2024"},
                                 {"data.targets", "\"a b.npy\""},
                                 {"train.learning_rate", ".5"},
                                 {"train.epochs", "1_000"},
                                 {"train.shuffle", "false"},
                                 {"train.seed", "18446744073709551615"},
                                 {"memory.budget", "268435456"},
                                 {"model.layers", "[{type = \"LSTM\", units = 8}, {type = \"Dense\"}]"},
                                 {"model.layers.0.units", "16"},
                                 {"model.layers.1.out_features", "3"}});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->task, Task::Regress);
  EXPECT_EQ(job->data.train, "2024");
  EXPECT_EQ(job->data.targets, "a b.npy");
  EXPECT_EQ(job->train.learning_rate, 0.5);
  EXPECT_EQ(job->train.epochs, 1000);
  EXPECT_FALSE(job->train.shuffle);
  EXPECT_EQ(job->train.seed, 18446744073709551615u);
  EXPECT_EQ(job->memory.budget, "268435456");
  ASSERT_EQ(job->layers.size(), 2u);
  EXPECT_EQ(std::get<LSTMOptions>(job->layers[0].kind).units, 16);
  EXPECT_EQ(std::get<DenseOptions>(job->layers[1].kind).units, 3);
}

TEST_F(ReadJobTest, LaterOverridesWin) {
  Result<Job> job = Read("[train]\nepochs = 2\n", {{"train.epochs", "3"}, {"train.epochs", "4"}});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->train.epochs, 4);
}

TEST_F(ReadJobTest, NamesOfOtherDialectsAreAccepted) {
  Result<Job> job = Read(R"(
[data]
validation_split = 0.25
[[model.layers]]
type = "Embedding"
num_embeddings = 500
embedding_dim = 16
[[model.layers]]
type = "lstm"
hidden_size = 32
[[model.layers]]
type = "GlobalMaxPooling1D"
[[model.layers]]
type = "GlobalAveragePooling1D"
name = "mean"
[[model.layers]]
type = "Dropout"
p = 0.1
[[model.layers]]
type = "Linear"
out_features = 4
[train]
lr = 0.01
eps = 1e-6
max_grad_norm = 2.0
)");
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->data.valid_share, 0.25);
  EXPECT_EQ(std::get<EmbeddingOptions>(job->layers[0].kind).input_dim, 500);
  EXPECT_EQ(std::get<EmbeddingOptions>(job->layers[0].kind).output_dim, 16);
  EXPECT_EQ(std::get<LSTMOptions>(job->layers[1].kind).units, 32);
  EXPECT_EQ(std::get<PoolingOptions>(job->layers[2].kind).mode, PoolingMode::Max);
  EXPECT_EQ(std::get<PoolingOptions>(job->layers[3].kind).mode, PoolingMode::Mean);
  EXPECT_EQ(std::get<DropoutOptions>(job->layers[4].kind).rate, 0.1);
  EXPECT_EQ(std::get<DenseOptions>(job->layers[5].kind).units, 4);
  EXPECT_EQ(job->train.learning_rate, 0.01);
  EXPECT_EQ(job->train.epsilon, 1e-6);
  EXPECT_EQ(job->train.clip_norm, 2.0);
}

struct BadJob {
  const char* text;
  std::vector<const char*> fragments;  // of "message | hint"
};

TEST_F(ReadJobTest, SaysWhatIsWrongAndWhere) {
  const std::vector<BadJob> bad = {
      // unknown keys
      {"[train]\nepoch = 5\n", {"job.toml:2: unknown key \"train.epoch\"", "did you mean 'epochs'?"}},
      {"\n\nepochs = 5\n", {"job.toml:3: unknown key \"epochs\"", "did you mean 'train.epochs'?"}},
      {"[trian]\nepochs = 5\n", {"job.toml:1: unknown key \"trian\"", "did you mean 'train'?"}},
      {"[train]\nbudget = \"1GB\"\n", {"job.toml:2: unknown key \"train.budget\"", "did you mean 'memory.budget'?"}},
      {"[train]\nwibble = 1\n", {"job.toml:2: unknown key \"train.wibble\"", "keys of train: batch_size, batch_tokens"}},
      {"[model]\nlayer = []\n", {"job.toml:2: unknown key \"model.layer\"", "did you mean 'layers'?"}},
      {"\"train.epochs\" = 5\n", {"job.toml:1: unknown key \"train.epochs\""}},
      {"[train.more]\nepochs = 5\n", {"job.toml:1: unknown key \"train.more\""}},
      {"[train]\nbetas = [0.9, 0.999]\n", {"job.toml:2: unknown key \"train.betas\"", "write beta_1 and beta_2"}},
      {"[train]\nclipnorm = 1.0\nclip_tensor_norm = 1.0\n", {"\"train.clip_tensor_norm\" is already given"}},
      {"{\n  \"train\": {\n    \"epoch\": 5\n  }\n}\n", {"job.toml:3: unknown key \"train.epoch\"", "did you mean 'epochs'?"}},
      // sections and layers of the wrong shape
      {"train = 5\n", {"job.toml:1: train: wanted a table, got 5"}},
      {"[model.layers]\ntype = \"LSTM\"\n", {"model.layers: wanted a list of layers, got a table", "[[model.layers]]"}},
      {"[model]\nlayers = [\"LSTM\"]\n", {"job.toml:2: model.layers[0]: wanted a table with a type, got text \"LSTM\""}},
      {"[[model.layers]]\nunits = 5\n", {"job.toml:1: model.layers[0]: the layer has no type", "type = \"LSTM\""}},
      {"[[model.layers]]\ntype = 5\n", {"job.toml:2: model.layers[0].type: wanted text, got 5"}},
      {"[[model.layers]]\ntype = \"LSTN\"\n",
       {"job.toml:2: model.layers[0].type: unknown layer type \"LSTN\"", "did you mean 'LSTM'?"}},
      {"[[model.layers]]\ntype = \"Transformer\"\n",
       {"unknown layer type \"Transformer\"", "one of Embedding, LSTM, GRU, SimpleRNN, Pooling"}},
      {"[[model.layers]]\ntype = \"Transformer\"\n", {"Merge, CRF, Custom, Conv1D"}},  // no CTC, which is refused when listed
      {"[[model.layers]]\ntype = \"bidirectional\"\n",
       {"job.toml:2: model.layers[0].type: unknown layer type \"bidirectional\" | Bidirectional is not there yet"}},
      {"[[model.layers]]\ntype = \"LSTM\"\nunit = 5\n", {"job.toml:3: unknown key \"unit\" of LSTM", "did you mean 'units'?"}},
      {"[[model.layers]]\ntype = \"LSTM\"\nnum_layers = 2\n",
       {"unknown key \"num_layers\" of LSTM", "one [[model.layers]] entry for each"}},
      {"[[model.layers]]\ntype = \"Add\"\ninputs = \"lstm\"\n", {"job.toml:3", "inputs", "wanted a list of names"}},
      {"[[model.layers]]\ntype = \"Add\"\ninputs = [\"lstm\", 2]\n", {"job.toml:3", "wanted a list of names", "got 2"}},
      {"[[model.layers]]\ntype = \"Dense\"\nkernel_regularizer = \"l2\"\n",
       {"unknown key \"kernel_regularizer\" of Dense", "write kernel_l1 or kernel_l2"}},
      {"[[model.layers]]\ntype = \"Conv1D\"\nkernel_regularizer = \"l2\"\n",
       {"unknown key \"kernel_regularizer\" of Conv1D", "write kernel_l1 or kernel_l2"}},
      {"[[model.layers]]\ntype = \"Conv1D\"\nbias_regularizer = \"l2\"\n",
       {"unknown key \"bias_regularizer\" of Conv1D", "write bias_l1 or bias_l2"}},
      {"[[model.layers]]\ntype = \"TimeDistributed\"\nlayer = {type = \"Dense\", units = 3}\n",
       {"job.toml:3: unknown key \"layer\" of Dense", "write the Dense's own keys beside type = \"TimeDistributed\""}},
      {"[[model.layers]]\ntype = \"Dense\"\nuse_bias = false\n",
       {"unknown key \"use_bias\" of Dense", "a Dense always has its bias"}},
      {"[[model.layers]]\ntype = \"Linear\"\nbias = false\n", {"unknown key \"bias\" of Dense", "a Dense always has its bias"}},
      {"[[model.layers]]\ntype = \"LSTM\"\nkernel_l2 = -1e-3\n", {"kernel_l2: wanted a number from 0 to 1000000000"}},
      {"[[model.layers]]\ntype = \"Dense\"\nwobble = 2\n",
       {"unknown key \"wobble\" of Dense", "keys of Dense: name, inputs, units, activation"}},
      {"[[model.layers]]\ntype = \"GlobalMaxPooling1D\"\nmode = \"mean\"\n", {"unknown key \"mode\" of GlobalMaxPooling1D"}},
      {"[[model.layers]]\ntype = \"LSTM\"\nunits = 4\nhidden_size = 5\n",
       {"\"units\" is already given, and both names mean one key"}},
      {"[train]\nlr = 1\nlearning_rate = 1\n", {"\"train.learning_rate\" is already given"}},
      // types
      {"[train]\nepochs = \"five\"\n", {"job.toml:2: train.epochs: wanted a whole number, got text \"five\""}},
      {"[train]\nepochs = 5.0\n", {"train.epochs: wanted a whole number, got 5.0"}},
      {"[train]\nepochs = 2024-01-01\n", {"train.epochs: wanted a whole number, got a date or time"}},
      {"[train]\nepochs = [5]\n", {"train.epochs: wanted a whole number, got a list"}},
      {"[train]\nlearning_rate = \"fast\"\n", {"train.learning_rate: wanted a number, got text \"fast\""}},
      {"[train]\nshuffle = 1\n", {"train.shuffle: wanted true or false, got 1"}},
      {"[train]\nseed = -1\n", {"train.seed: wanted a whole number from 0 to 18446744073709551615", "got -1"}},
      {"[train]\nseed = \"one\"\n", {"train.seed: wanted a whole number", "got text \"one\""}},
      {"[data]\ntrain = 5\n", {"job.toml:2: data.train: wanted a path as text, or a list of them, got 5"}},
      {"[data]\nvalid = true\n", {"data.valid: wanted a share such as 0.1, or a file, got true"}},
      {"task = 1\n", {"job.toml:1: task: wanted one of classify, regress, tag, lm, forecast, got 1"}},
      {"task = \"clasify\"\n",
       {"task: wanted one of classify, regress, tag, lm, forecast, got text \"clasify\"; did you mean 'classify'?"}},
      {"[train]\noptimizer = \"adan\"\n",
       {"train.optimizer: wanted one of adam, adamw, sgd, rmsprop, adagrad, lazy_adam, got text \"adan\"; did you mean "
        "'adam'?"}},
      {"[[model.layers]]\ntype = \"Dense\"\nactivation = \"gelu\"\n",
       {"job.toml:3: model.layers[0].activation: wanted one of linear, relu"}},
      {"{\"train\": {\n\"epochs\": null}}", {"job.toml:2: train.epochs: wanted a whole number, got null"}},
      // ranges
      {"[train]\nepochs = 0\n", {"train.epochs: wanted a whole number from 1 to 1000000000, got 0"}},
      {"[train]\nbatch_size = -3\n", {"train.batch_size: wanted a whole number from 1 to 1000000, got -3"}},
      {"[train]\nlearning_rate = -1.0\n", {"train.learning_rate: wanted a number from 0 to 1000, got -1.0"}},
      {"[train]\nlearning_rate = nan\n", {"train.learning_rate: wanted a number", "got nan"}},
      {"[train]\nlearning_rate = inf\n", {"train.learning_rate: wanted a number", "got inf"}},
      {"[train]\nbeta_1 = 1.0\n", {"train.beta_1: wanted a number at least 0 and below 1, got 1.0"}},
      {"[train]\nmomentum = 1.0\n", {"train.momentum: wanted a number at least 0 and below 1, got 1.0"}},
      {"[train]\nlr_schedule = \"cosin\"\n",
       {"train.lr_schedule: wanted one of constant, linear, cosine", "did you mean 'cosine'?"}},
      {"[train]\nwarmup_steps = -1\n", {"train.warmup_steps: wanted a whole number from 0 to 1000000000000, got -1"}},
      {"[train]\nwarmup_ratio = 0.1\n", {"unknown key \"train.warmup_ratio\"", "write warmup_steps"}},
      {"[train]\nepsilon = 0.0\n", {"train.epsilon: wanted a number above 0 and at most 1, got 0.0"}},
      {"[data]\nvalid = 1.5\n", {"data.valid: wanted a number at least 0 and below 1, or a file, got 1.5"}},
      {"[[model.layers]]\ntype = \"LSTM\"\nunits = 0\n",
       {"model.layers[0].units: wanted a whole number from 1 to 65536, got 0"}},
      {"[memory]\nbudget = \"12 parsecs\"\n",
       {"job.toml:2: memory.budget: memory \"12 parsecs\": the unit is unknown; wanted bytes"}},
      {"[memory]\nbudget = 0\n", {"memory.budget: memory \"0\""}},
      {"[memory]\nbudget = 1.5\n", {"memory.budget: wanted an amount such as \"256MB\"", "got 1.5"}},
      // syntax
      {"[train\nepochs = 5\n", {"job.toml:1:7: not TOML"}},
      {"[train]\nepochs = \n", {"job.toml:2:", "not TOML"}},
      {"[train]\nepochs = # 5\n", {"job.toml:2:", "not TOML"}},
      {"[ # train\nepochs = 5\n", {"job.toml:1:", "not TOML"}},
      {"[train]\nepochs = [}5\n", {"job.toml:2:", "not TOML"}},
      {"task.\n", {"job.toml:", "not TOML"}},
      {"# é \"\ntask = é\n", {"job.toml:2:", "not TOML"}},
      {"[data]\ntrain = 'a\\'\nclé = 5\n", {"job.toml:3:", "not TOML"}},
      {"é = 1", {"job.toml:1:1: not TOML"}},
      {"task = \"re\né = 1", {"job.toml:", "not TOML"}},
      {"[train]\nepochs = 5\nepochs = 6\n", {"job.toml:3:", "not TOML"}},
      {"[train]\nseed = 9223372036854775808\n", {"job.toml:2:", "not TOML"}},
      {"\x01\x02\xff\xfe", {"job.toml:1:", "not TOML"}},
      {"{\n\"train\": {\"epochs\": 5,}\n}\n", {"job.toml:2:", "not JSON"}},
      {"{\n\"train\": {\"epochs\": 5", {"job.toml:2:", "not JSON"}},
      {"{\"a\": 1} x", {"job.toml:1:", "not JSON"}},
      {"{\"train\": {\n\"epochs\": 5,\n\"epochs\": 6}}", {"job.toml:3: the key \"epochs\" stands here twice"}},
  };
  for (const BadJob& job : bad) {
    const std::string complaint = Complaint(job.text);
    for (const char* fragment : job.fragments)
      EXPECT_NE(complaint.find(fragment), std::string::npos) << job.text << "\nsaid   " << complaint << "\nwanted " << fragment;
  }
}

TEST_F(ReadJobTest, OutputsAreAListOfTheirOwn) {
  const std::string two =
      "[[outputs]]\nlayer = \"tags\"\nloss_weight = 2\n[[outputs]]\nlayer = \"mood\"\n"
      "targets = \"moods\"\nloss = \"huber\"\n";
  Result<Job> job = Read(two);
  ASSERT_TRUE(job.ok()) << job.status().message();
  ASSERT_EQ(job->outputs.size(), 2U);
  EXPECT_EQ(job->outputs[0], (OutputOptions{.layer = "tags", .loss_weight = 2.0}));
  EXPECT_EQ(job->outputs[1], (OutputOptions{.layer = "mood", .targets = "moods", .loss = Loss::Huber}));
  Result<Job> changed = Read(two, {{"outputs", "[{layer = \"one\"}]"}});
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  ASSERT_EQ(changed->outputs.size(), 1U);
  EXPECT_EQ(changed->outputs[0].layer, "one");

  const auto complaint = [&](const std::string& line) { return Complaint("[[outputs]]\nlayer = \"a\"\n" + line + "\n"); };
  EXPECT_NE(complaint("loss_weight = 0").find("job.toml:3: outputs[0].loss_weight: wanted"), std::string::npos);
  EXPECT_NE(complaint("los = \"mse\"").find("unknown key \"los\" of outputs[0]; did you mean 'loss'?"), std::string::npos)
      << complaint("los = \"mse\"");
  EXPECT_NE(complaint("layer = 3").find("layer"), std::string::npos);
  EXPECT_NE(Complaint("[[outputs]]\nloss = \"mse\"\n").find("the output has no layer"), std::string::npos);
  EXPECT_NE(Complaint("outputs = 3\n").find("wanted a list of outputs"), std::string::npos);
}

TEST_F(ReadJobTest, AnOverrideChangesOneKeyOfOneOutput) {
  const std::string two = "[[outputs]]\nlayer = \"tags\"\nloss_weight = 2\n[[outputs]]\nlayer = \"mood\"\n";
  Result<Job> job = Read(two, {{"outputs.1.loss", "huber"}, {"outputs.1.targets", "2024"}, {"outputs.0.loss_weight", "0.5"}});
  ASSERT_TRUE(job.ok()) << job.status().message();
  ASSERT_EQ(job->outputs.size(), 2U);
  EXPECT_EQ(job->outputs[0], (OutputOptions{.layer = "tags", .loss_weight = 0.5}));
  EXPECT_EQ(job->outputs[1], (OutputOptions{.layer = "mood", .targets = "2024", .loss = Loss::Huber}));

  job = Read("", {{"outputs", "[{layer = \"one\"}]"}, {"outputs.0.layer", "other"}});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->outputs, (std::vector<OutputOptions>{{.layer = "other"}}));

  struct Case {
    JobOverride change;
    const char* said;  // from its beginning
  };
  const std::vector<Case> cases = {
      {{"outputs.2.loss", "huber"}, "\"outputs.2.loss\": the job has 2 outputs, and the first is 0"},
      {{"outputs.-1.loss", "huber"}, "unknown key \"outputs.-1.loss\" | outputs.NUMBER.KEY, the first is 0"},
      {{"outputs.1", "huber"}, "unknown key \"outputs.1\" | outputs.NUMBER.KEY"},
      {{"outputs.1.los", "huber"},
       "unknown key \"los\" of outputs.1; did you mean 'loss'? | keys of an output: layer, targets"},
      {{"outputs.1.loss", "huger"}, "outputs.1.loss: wanted one of auto"},
      {{"outputs.1.loss_weight", "0"}, "outputs.1.loss_weight: wanted a number above 0"},
      {{"outputs.1.layer", ""}, "outputs.1.layer: the output has no layer"},
  };
  for (const Case& c : cases) EXPECT_EQ(Complaint(two, {c.change}).find(c.said), 0U) << Complaint(two, {c.change});
}

TEST_F(ReadJobTest, SaysWhatIsWrongWithAnOverride) {
  struct Case {
    JobOverride change;
    const char* fragment;
  };
  const std::vector<Case> cases = {
      {{"train.epochs", "five"}, "train.epochs: wanted a whole number, got text \"five\""},
      {{"train.epochs", "5\nseed = 3"}, "train.epochs: wanted a whole number, got text \"5?seed = 3\""},
      {{"train.epochs", ""}, "train.epochs: wanted a whole number, got text \"\""},
      {{"train.epoch", "5"}, "unknown key \"train.epoch\"; did you mean 'epochs'?"},
      {{"epochs", "5"}, "unknown key \"epochs\"; did you mean 'train.epochs'?"},
      {{"train", "5"}, "\"train\" is a section, not a key"},
      {{"model.layers.3.units", "5"}, "the job has 0 layers"},
      {{"model.layers.first.units", "5"}, "model.layers.NUMBER.KEY"},
      {{"model.layers.0", "5"}, "model.layers.NUMBER.KEY"},
      {{"model.layers", "[{type = \"LSTM\", units = 0}]"}, "model.layers[0].units: wanted a whole number from 1"},
      {{"", "5"}, "unknown key \"\""},
      {{".", "5"}, "unknown key \".\""},
  };
  for (const Case& c : cases) {
    const std::string complaint = Complaint("", {c.change});
    EXPECT_NE(complaint.find(c.fragment), std::string::npos) << c.change.key << "=" << c.change.value << "\nsaid " << complaint;
    EXPECT_EQ(complaint.find("job.toml"), std::string::npos) << "an override has no file: " << complaint;
  }
}

TEST_F(ReadJobTest, RefusesWhatIsNoJobFile) {
  EXPECT_NE(ReadJob((folder_ / "none.toml").string(), {}).status().message().find("No such file"), std::string::npos);
  EXPECT_NE(ReadJob(folder_.string(), {}).status().message().find("Is a directory"), std::string::npos);
  EXPECT_NE(Complaint(std::string((1 << 20) + 1, '#')).find("larger than 1 MiB"), std::string::npos);
  EXPECT_EQ(Complaint(std::string(1 << 20, '#')), "no complaint");
}

TEST_F(ReadJobTest, DeepNestingIsRefusedBeforeItHurts) {
  EXPECT_NE(Complaint("{\"a\":" + std::string(500'000, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(Complaint("a = " + std::string(500'000, '[')).find("not TOML"), std::string::npos);
}

TEST(CheckMemoryText, PassesWhatNeedsTheMachineAndRefusesNonsense) {
  for (const char* text : {"auto", "80%", "256MB", "1"}) EXPECT_TRUE(CheckMemoryText(text).ok()) << text;
  EXPECT_EQ(CheckMemoryText("lots").kind(), StatusKind::Usage);
}

}  // namespace
}  // namespace plimsoll
