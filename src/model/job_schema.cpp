#include "model/job_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/suggest.h"
#include "layers/activation_names.h"
#include "model/layer_kinds.h"
#include "model/train_options.h"

namespace plimsoll {
namespace {

using Names = std::vector<std::string_view>;
using Kind = JobValue::Kind;

Status Refused(const KeyPlace& at, std::string_view wanted, const JobValue& got, std::string hint = "") {
  return Status::Usage(fmt::format("{}{}: wanted {}, got {}", at.Prefix(), at.key, wanted, Describe(got)), std::move(hint));
}

// What the user typed, where it is text: an override such as --data.train=2024 is text although it looks like a number.
std::optional<std::string> AsText(const JobValue& value, const KeyPlace& at) {
  if (value.kind == Kind::Text || (at.file.empty() && !value.text.empty())) return value.text;
  return std::nullopt;
}

struct WholeRange {
  int64_t min = 0;
  int64_t max = 0;
};
constexpr int64_t kMostIds = 2147483647;  // ids are int32
constexpr int64_t kMostUnits = 65536;

struct NumberRange {
  double min = 0.0;
  double max = 0.0;
  bool without_min = false;
  bool without_max = false;

  bool Holds(double value) const {
    return (without_min ? value > min : value >= min) && (without_max ? value < max : value <= max);
  }
  std::string Text() const {
    if (!without_min && !without_max) return fmt::format("a number from {} to {}", min, max);
    return fmt::format("a number {} {} and {} {}", without_min ? "above" : "at least", min, without_max ? "below" : "at most",
                       max);
  }
};

template <typename Owner>
Field<Owner> Whole(std::string key, int64_t Owner::*member, WholeRange range, std::string about, Names aliases = {}) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = std::move(aliases),
          .set =
              [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
                if (value.kind != Kind::Whole) return Refused(at, "a whole number", value);
                if (value.whole < range.min || value.whole > range.max)
                  return Refused(at, fmt::format("a whole number from {} to {}", range.min, range.max), value);
                owner.*member = value.whole;
                return Status::Ok();
              },
          .get = [=](const Owner& owner) { return WholeValue(owner.*member); }};
}

// `Value` is double, or std::optional<double> for a number that may be left to others.
template <typename Owner, typename Value>
Field<Owner> Number(std::string key, Value Owner::*member, NumberRange range, std::string about, Names aliases = {}) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = std::move(aliases),
          .set =
              [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
                if (value.kind != Kind::Whole && value.kind != Kind::Number) return Refused(at, "a number", value);
                const double number = value.kind == Kind::Whole ? static_cast<double>(value.whole) : value.number;
                if (!range.Holds(number)) return Refused(at, range.Text(), value);  // NaN too
                owner.*member = number;
                return Status::Ok();
              },
          .get = [=](const Owner& owner) -> std::optional<JobValue> {
            const std::optional<double> number = owner.*member;
            return number ? std::optional(NumberValue(*number)) : std::nullopt;
          }};
}

// `Value` is bool, or std::optional<bool> for a flag that may be left to others.
template <typename Owner, typename Value>
Field<Owner> Flag(std::string key, Value Owner::*member, std::string about, Names aliases = {}) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = std::move(aliases),
          .set =
              [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
                if (value.kind != Kind::Flag) return Refused(at, "true or false", value);
                owner.*member = value.flag;
                return Status::Ok();
              },
          .get = [=](const Owner& owner) -> std::optional<JobValue> {
            const std::optional<bool> flag = owner.*member;
            return flag ? std::optional(FlagValue(*flag)) : std::nullopt;
          }};
}

template <typename Owner>
Field<Owner> Text(std::string key, std::string Owner::*member, std::string about) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = {},
          .set =
              [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
                const std::optional<std::string> text = AsText(value, at);
                if (!text) return Refused(at, "text", value);
                owner.*member = *text;
                return Status::Ok();
              },
          .get = [=](const Owner& owner) { return TextValue(owner.*member); }};
}

// A list of texts; an empty one is left out when written.
template <typename Owner>
Field<Owner> TextList(std::string key, std::vector<std::string> Owner::*member, std::string about) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = {},
          .set =
              [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
                constexpr std::string_view kWanted = "a list of names such as [\"lstm\", \"dense\"]";
                if (value.kind != Kind::List) return Refused(at, kWanted, value);
                std::vector<std::string> texts;
                for (const JobValue& item : value.list) {
                  if (item.kind != Kind::Text) return Refused(at, kWanted, item);
                  texts.push_back(item.text);
                }
                owner.*member = std::move(texts);
                return Status::Ok();
              },
          .get = [=](const Owner& owner) -> std::optional<JobValue> {
            if ((owner.*member).empty()) return std::nullopt;
            return TextListValue(owner.*member);
          }};
}

// A list of numbers within a range; an empty one is left out when written.
template <typename Owner>
Field<Owner> NumberList(std::string key, std::vector<double> Owner::*member, NumberRange range, std::string about) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = {},
          .set =
              [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
                if (value.kind != Kind::List) return Refused(at, "a list of numbers such as [1.0, 2.5]", value);
                std::vector<double> numbers;
                for (const JobValue& item : value.list) {
                  if (item.kind != Kind::Whole && item.kind != Kind::Number) return Refused(at, "numbers in the list", item);
                  numbers.push_back(item.kind == Kind::Whole ? static_cast<double>(item.whole) : item.number);
                  if (!range.Holds(numbers.back())) return Refused(at, range.Text(), item);
                }
                owner.*member = std::move(numbers);
                return Status::Ok();
              },
          .get = [=](const Owner& owner) -> std::optional<JobValue> {
            if ((owner.*member).empty()) return std::nullopt;
            return NumberListValue(owner.*member);
          }};
}

bool IsRelative(const std::string& path) {
  return !path.empty() && !path.starts_with("generate:") && std::filesystem::path(path).is_relative();
}

std::string PathFrom(const KeyPlace& at, std::string path) {
  if (at.folder.empty() || !IsRelative(path)) return path;
  return (std::filesystem::path(at.folder) / path).lexically_normal().string();
}

// Written absolute, so that the file means the same wherever it is put.
JobValue PathValue(const std::string& path) {
  if (!IsRelative(path)) return TextValue(path);
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return TextValue(error ? path : absolute.lexically_normal().string());
}

// A file, or "generate:...", which is left as it is.
template <typename Owner>
Field<Owner> Path(std::string key, std::string Owner::*member, std::string about, Names aliases = {}) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = std::move(aliases),
          .set =
              [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
                const std::optional<std::string> path = AsText(value, at);
                if (!path) return Refused(at, "a path as text", value);
                owner.*member = PathFrom(at, *path);
                return Status::Ok();
              },
          .get = [=](const Owner& owner) { return PathValue(owner.*member); }};
}

template <typename Enum>
struct Choice {
  std::string_view name;
  Enum value;
};
constexpr std::array kTasks = [] {
  std::array<Choice<Task>, 5> choices{};
  for (size_t i = 0; i < choices.size(); ++i) choices[i] = {TaskName(static_cast<Task>(i)), static_cast<Task>(i)};
  return choices;
}();
constexpr std::array kFormats = {
    Choice<DataFormat>{"auto", DataFormat::Auto},   Choice<DataFormat>{"text", DataFormat::Text},
    Choice<DataFormat>{"tsv", DataFormat::Tsv},     Choice<DataFormat>{"csv", DataFormat::Csv},
    Choice<DataFormat>{"jsonl", DataFormat::Jsonl}, Choice<DataFormat>{"conll", DataFormat::Conll}};
constexpr std::array kTokens = {Choice<TokenKind>{"auto", TokenKind::Auto}, Choice<TokenKind>{"byte", TokenKind::Byte},
                                Choice<TokenKind>{"char", TokenKind::Char}, Choice<TokenKind>{"word", TokenKind::Word},
                                Choice<TokenKind>{"ids", TokenKind::Ids},   Choice<TokenKind>{"bpe", TokenKind::Bpe}};
constexpr std::array kOptimizers = {
    Choice<OptimizerKind>{"adam", OptimizerKind::Adam},       Choice<OptimizerKind>{"adamw", OptimizerKind::AdamW},
    Choice<OptimizerKind>{"sgd", OptimizerKind::Sgd},         Choice<OptimizerKind>{"rmsprop", OptimizerKind::RmsProp},
    Choice<OptimizerKind>{"adagrad", OptimizerKind::Adagrad}, Choice<OptimizerKind>{"lazy_adam", OptimizerKind::LazyAdam}};
constexpr std::array kLosses = {Choice<Loss>{"auto", Loss::Auto},
                                Choice<Loss>{"sparse_categorical_crossentropy", Loss::SparseCategoricalCrossentropy},
                                Choice<Loss>{"categorical_crossentropy", Loss::CategoricalCrossentropy},
                                Choice<Loss>{"binary_crossentropy", Loss::BinaryCrossentropy},
                                Choice<Loss>{"mean_squared_error", Loss::MeanSquaredError},
                                Choice<Loss>{"mean_absolute_error", Loss::MeanAbsoluteError},
                                Choice<Loss>{"huber", Loss::Huber},
                                Choice<Loss>{"crf", Loss::Crf},
                                Choice<Loss>{"custom", Loss::Custom},
                                Choice<Loss>{"ctc", Loss::Ctc},
                                Choice<Loss>{"mse", Loss::MeanSquaredError},
                                Choice<Loss>{"mae", Loss::MeanAbsoluteError},
                                Choice<Loss>{"ctc_loss", Loss::Ctc}};
constexpr std::array kSchedules = {Choice<LrSchedule>{"constant", LrSchedule::Constant},
                                   Choice<LrSchedule>{"linear", LrSchedule::Linear},
                                   Choice<LrSchedule>{"cosine", LrSchedule::Cosine},
                                   Choice<LrSchedule>{"polynomial", LrSchedule::Polynomial},
                                   Choice<LrSchedule>{"inverse_sqrt", LrSchedule::InverseSqrt},
                                   Choice<LrSchedule>{"step", LrSchedule::Step},
                                   Choice<LrSchedule>{"exponential", LrSchedule::Exponential},
                                   Choice<LrSchedule>{"one_cycle", LrSchedule::OneCycle},
                                   Choice<LrSchedule>{"plateau", LrSchedule::Plateau}};
constexpr std::array kMonitors = [] {
  constexpr std::array kOwn = {Choice<Monitor>{"auto", Monitor::Auto},
                               Choice<Monitor>{"loss", Monitor::Loss},
                               Choice<Monitor>{"accuracy", Monitor::Accuracy},
                               Choice<Monitor>{"val_loss", Monitor::ValLoss},
                               Choice<Monitor>{"val_accuracy", Monitor::ValAccuracy},
                               Choice<Monitor>{"val_label_error_rate", Monitor::ValLabelErrorRate}};
  std::array<Choice<Monitor>, kOwn.size() + kMetrics - 1> all{};
  std::copy(kOwn.begin(), kOwn.end(), all.begin());
  for (size_t i = 1; i < kMetrics; ++i)  // all but accuracy, which stands above
    all[kOwn.size() + i - 1] = {kMetricFacts[i].monitored, MonitorOf(static_cast<Metric>(i))};
  return all;
}();
constexpr std::array kMetricNames = [] {
  constexpr std::array kAliases = {Choice<Metric>{"categorical_accuracy", Metric::Accuracy},
                                   Choice<Metric>{"sparse_categorical_accuracy", Metric::Accuracy},
                                   Choice<Metric>{"top_k_categorical_accuracy", Metric::TopKAccuracy},
                                   Choice<Metric>{"sparse_top_k_categorical_accuracy", Metric::TopKAccuracy},
                                   Choice<Metric>{"f1_score", Metric::F1},
                                   Choice<Metric>{"mean_absolute_error", Metric::Mae},
                                   Choice<Metric>{"root_mean_squared_error", Metric::Rmse},
                                   Choice<Metric>{"mean_absolute_percentage_error", Metric::Mape},
                                   Choice<Metric>{"r2_score", Metric::R2}};
  std::array<Choice<Metric>, kMetrics + kAliases.size()> all{};
  for (size_t i = 0; i < kMetrics; ++i) all[i] = {MetricName(static_cast<Metric>(i)), static_cast<Metric>(i)};
  std::copy(kAliases.begin(), kAliases.end(), all.begin() + kMetrics);
  return all;
}();
constexpr std::array kActivations = [] {
  std::array<Choice<Activation>, kActivationNames.size()> choices{};
  for (size_t i = 0; i < choices.size(); ++i) choices[i] = {kActivationNames[i].name, kActivationNames[i].activation};
  return choices;
}();
constexpr const char* kActivationsAbout = "linear, relu, tanh, sigmoid, softmax, hard_sigmoid, softsign, elu, leaky_relu";
constexpr std::array kPoolingModes = {
    Choice<PoolingMode>{"last", PoolingMode::Last}, Choice<PoolingMode>{"mean", PoolingMode::Mean},
    Choice<PoolingMode>{"max", PoolingMode::Max}, Choice<PoolingMode>{"state", PoolingMode::State}};
constexpr std::array kMergeModes = {Choice<MergeMode>{"concatenate", MergeMode::Concatenate},
                                    Choice<MergeMode>{"add", MergeMode::Add},
                                    Choice<MergeMode>{"multiply", MergeMode::Multiply}};

constexpr std::array kInitializers = {Choice<Initializer>{"glorot_uniform", Initializer::GlorotUniform},
                                      Choice<Initializer>{"glorot_normal", Initializer::GlorotNormal},
                                      Choice<Initializer>{"he_uniform", Initializer::HeUniform},
                                      Choice<Initializer>{"he_normal", Initializer::HeNormal},
                                      Choice<Initializer>{"lecun_uniform", Initializer::LecunUniform},
                                      Choice<Initializer>{"lecun_normal", Initializer::LecunNormal},
                                      Choice<Initializer>{"orthogonal", Initializer::Orthogonal},
                                      Choice<Initializer>{"random_uniform", Initializer::RandomUniform},
                                      Choice<Initializer>{"random_normal", Initializer::RandomNormal},
                                      Choice<Initializer>{"truncated_normal", Initializer::TruncatedNormal},
                                      Choice<Initializer>{"zeros", Initializer::Zeros},
                                      Choice<Initializer>{"ones", Initializer::Ones},
                                      Choice<Initializer>{"identity", Initializer::Identity}};
constexpr const char* kKernelStart = "first weights of the input; see docs/layers.md";
constexpr const char* kBiasStart = "first biases; any but orthogonal and identity";

template <typename Owner, typename Enum, size_t count>
Field<Owner> OneOf(std::string key, Enum Owner::*member, const std::array<Choice<Enum>, count>& choices, std::string about,
                   Names aliases = {}) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = std::move(aliases),
          .set =
              [member, &choices](Owner& owner, const JobValue& value, const KeyPlace& at) {
                Names names;
                for (const Choice<Enum>& choice : choices) {
                  if (value.kind == Kind::Text && SameName(choice.name, value.text)) {
                    owner.*member = choice.value;
                    return Status::Ok();
                  }
                  names.push_back(choice.name);
                }
                const Status refused = Refused(at, fmt::format("one of {}", fmt::join(names, ", ")), value);
                return Status::Usage(refused.message() + DidYouMean(value.text, names));
              },
          .get = [member, &choices](const Owner& owner) -> std::optional<JobValue> {
            for (const Choice<Enum>& choice : choices) {
              if (choice.value == owner.*member) return TextValue(std::string(choice.name));
            }
            return std::nullopt;
          }};
}

// train.metrics: a list of names, each once.
Field<TrainOptions> MetricsField() {
  return {.key = "metrics",
          .about = "figures of every score; unset: as the task asks; see docs/training.md",
          .aliases = {},
          .set =
              [](TrainOptions& train, const JobValue& value, const KeyPlace& at) {
                Names names;
                for (const Choice<Metric>& choice : kMetricNames) names.push_back(choice.name);
                if (value.kind != Kind::List) return Refused(at, "a list of names such as [\"f1_macro\", \"auc\"]", value);
                std::vector<Metric> metrics;
                for (const JobValue& item : value.list) {
                  const auto* found = std::find_if(kMetricNames.begin(), kMetricNames.end(), [&](const auto& choice) {
                    return item.kind == Kind::Text && SameName(choice.name, item.text);
                  });
                  if (found == kMetricNames.end()) {
                    const Status refused = Refused(at, fmt::format("one of {}", fmt::join(names, ", ")), item);
                    return Status::Usage(refused.message() + DidYouMean(item.text, names));
                  }
                  if (std::count(metrics.begin(), metrics.end(), found->value) > 0)
                    return Refused(at, "each metric once", item);
                  metrics.push_back(found->value);
                }
                train.metrics = std::move(metrics);
                return Status::Ok();
              },
          .get = [](const TrainOptions& train) -> std::optional<JobValue> {
            if (!train.metrics) return std::nullopt;
            std::vector<std::string> names;
            for (const Metric metric : *train.metrics) names.emplace_back(MetricName(metric));
            return TextListValue(names);
          }};
}

// A file, or a list of files: the first and the others.
Status SetFiles(std::string& first, std::vector<std::string>& more, const JobValue& value, const KeyPlace& at) {
  std::vector<std::string> files;
  for (const JobValue& item : value.kind == Kind::List ? value.list : std::vector<JobValue>{value}) {
    const std::optional<std::string> path = AsText(item, at);
    if (!path) return Refused(at, "a path as text, or a list of them", item);
    files.push_back(PathFrom(at, *path));
  }
  if (files.empty()) return Refused(at, "at least one file", value);
  first = files[0];
  more.assign(files.begin() + 1, files.end());
  return Status::Ok();
}

JobValue FilesValue(const std::string& first, const std::vector<std::string>& more) {
  if (more.empty()) return PathValue(first);
  std::vector<std::string> files = {PathValue(first).text};
  for (const std::string& file : more) files.push_back(PathValue(file).text);
  return TextListValue(files);
}

// `data.valid`: a share of the training samples, or a file.
Field<DataOptions> ValidField() {
  constexpr NumberRange kShare = {.min = 0.0, .max = 1.0, .without_max = true};
  return {.key = "valid",
          .about = "a share of the training samples, or a file, or a list of files",
          .aliases = {"validation_split", "validation_data"},
          .set =
              [=](DataOptions& data, const JobValue& value, const KeyPlace& at) {
                if (value.kind == Kind::Text || value.kind == Kind::List) {
                  PLIMSOLL_RETURN_IF_ERROR(SetFiles(data.valid_file, data.valid_more, value, at));
                  data.valid_share = 0.0;
                  return Status::Ok();
                }
                if (value.kind != Kind::Whole && value.kind != Kind::Number)
                  return Refused(at, "a share such as 0.1, or a file", value);
                const double share = value.kind == Kind::Whole ? static_cast<double>(value.whole) : value.number;
                if (!kShare.Holds(share)) return Refused(at, kShare.Text() + ", or a file", value);
                data.valid_share = share;
                data.valid_file.clear();
                data.valid_more.clear();
                return Status::Ok();
              },
          .get =
              [](const DataOptions& data) {
                return data.valid_file.empty() ? NumberValue(data.valid_share) : FilesValue(data.valid_file, data.valid_more);
              }};
}

// `data.train`: a file, or a list of them that are one data set.
Field<DataOptions> TrainFileField() {
  return {.key = "train",
          .about = "a file or a list of files, or generate:NAME?key=value",
          .aliases = {},
          .set = [](DataOptions& data, const JobValue& value,
                    const KeyPlace& at) { return SetFiles(data.train, data.train_more, value, at); },
          .get = [](const DataOptions& data) { return FilesValue(data.train, data.train_more); }};
}

// A column by its name or its number, or several of them.
template <typename Owner>
Field<Owner> Columns(std::string key, std::vector<std::string> Owner::*member, std::string about) {
  return {.key = std::move(key),
          .about = std::move(about),
          .aliases = {},
          .set =
              [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
                std::vector<std::string> columns;
                for (const JobValue& item : value.kind == Kind::List ? value.list : std::vector<JobValue>{value}) {
                  if (item.kind != Kind::Text && item.kind != Kind::Whole)
                    return Refused(at, "a column, or a list of them", item);
                  columns.push_back(item.kind == Kind::Text ? item.text : fmt::format("{}", item.whole));
                }
                if (columns.size() == 1 && columns[0].empty()) columns.clear();
                owner.*member = std::move(columns);
                return Status::Ok();
              },
          .get = [=](const Owner& owner) -> std::optional<JobValue> {
            if ((owner.*member).size() == 1) return TextValue((owner.*member)[0]);
            return (owner.*member).empty() ? TextValue("") : TextListValue(owner.*member);
          }};
}

// One column.
template <typename Owner>
Field<Owner> Column(std::string key, std::string Owner::*member, std::string about) {
  Field<Owner> field = Text(std::move(key), member, std::move(about));
  field.set = [=](Owner& owner, const JobValue& value, const KeyPlace& at) {
    if (value.kind != Kind::Text && value.kind != Kind::Whole) return Refused(at, "a column by its name or number", value);
    owner.*member = value.kind == Kind::Text ? value.text : fmt::format("{}", value.whole);
    return Status::Ok();
  };
  return field;
}

// `train.seed`: any 64 bits. TOML's whole numbers end at 2^63 - 1; beyond that the number stands in quotes.
Field<TrainOptions> SeedField() {
  return {.key = "seed",
          .about = "of weights, order and dropout",
          .aliases = {},
          .set =
              [](TrainOptions& train, const JobValue& value, const KeyPlace& at) {
                if (value.kind == Kind::Whole && value.whole >= 0) {
                  train.seed = static_cast<uint64_t>(value.whole);
                  return Status::Ok();
                }
                uint64_t seed = 0;
                const char* end = value.text.data() + value.text.size();
                const auto [stop, error] = std::from_chars(value.text.data(), end, seed);
                if (value.text.empty() || stop != end || error != std::errc())
                  return Refused(at, "a whole number from 0 to 18446744073709551615 (in quotes above 9223372036854775807)",
                                 value);
                train.seed = seed;
                return Status::Ok();
              },
          .get =
              [](const TrainOptions& train) {
                if (!std::in_range<int64_t>(train.seed)) return TextValue(fmt::format("{}", train.seed));
                return WholeValue(static_cast<int64_t>(train.seed));
              }};
}

// `train.learning_rate`: where it is not stated, that of the optimizer is written.
Field<TrainOptions> LearningRateField() {
  Field<TrainOptions> field =
      Number("learning_rate", &TrainOptions::learning_rate, {.min = 0.0, .max = 1000.0}, "step size of the optimizer", {"lr"});
  field.get = [](const TrainOptions& train) { return NumberValue(LearningRateOf(train)); };
  return field;
}

// `train.save_every`: a stretch of time as text, or a number of updates.
Field<TrainOptions> SaveEveryField() {
  return {.key = "save_every",
          .about = "between snapshots: 30s, 10m, 2h, or updates; 0: at the end alone",
          .aliases = {"save_steps"},
          .set =
              [](TrainOptions& train, const JobValue& value, const KeyPlace& at) {
                constexpr std::string_view kWanted = "a stretch of time such as \"10m\", or a number of updates";
                if (value.kind != Kind::Whole && value.kind != Kind::Text) return Refused(at, kWanted, value);
                const std::string text = value.kind == Kind::Text ? value.text : fmt::format("{}", value.whole);
                if (!ReadSaveInterval(text).ok()) return Refused(at, kWanted, value);
                train.save_every = text;
                return Status::Ok();
              },
          .get =
              [](const TrainOptions& train) {
                const Result<SaveInterval> interval = ReadSaveInterval(train.save_every);
                const bool time = interval.ok() && interval.value().seconds > 0.0;
                return interval.ok() && !time ? WholeValue(interval.value().updates) : TextValue(train.save_every);
              }};
}

// `memory.budget`: text, or a plain number of bytes.
Field<MemoryOptions> BudgetField() {
  return {.key = "budget",
          .about = "peak resident memory of the whole process: bytes, 256MB, 512MiB, 80%, auto",
          .aliases = {},
          .set =
              [](MemoryOptions& memory, const JobValue& value, const KeyPlace& at) {
                if (value.kind != Kind::Text && value.kind != Kind::Whole)
                  return Refused(at, "an amount such as \"256MB\", \"80%\" or \"auto\"", value);
                const std::string text = value.kind == Kind::Text ? value.text : fmt::format("{}", value.whole);
                if (const Status checked = CheckMemoryText(text); !checked.ok())
                  return Status::Usage(fmt::format("{}{}: {}", at.Prefix(), at.key, checked.message()), checked.hint());
                memory.budget = text;
                return Status::Ok();
              },
          .get = [](const MemoryOptions& memory) { return TextValue(memory.budget); }};
}

constexpr NumberRange kShareBelowOne = {.min = 0.0, .max = 1.0, .without_max = true};
constexpr NumberRange kVarianceFloor = {.min = 0.0, .max = 1.0, .without_min = true};
constexpr WholeRange kIds = {0, kMostIds};

std::vector<Field<Job>> TopFields() {
  return {
      OneOf("task", &Job::task, kTasks, "classify, regress, tag, lm or forecast"),
      Path("init_from", &Job::init_from, "a model folder whose weights are the start; empty: fresh weights"),
  };
}

std::vector<Field<DataOptions>> DataFields() {
  return {
      TrainFileField(),
      Path("targets", &DataOptions::targets, ".npy of y, beside a .npy train file"),
      Path("lengths", &DataOptions::lengths, ".npy of lengths, beside a .npy train file"),
      Path("valid_targets", &DataOptions::valid_targets, ".npy of y, beside a .npy validation file"),
      Path("weights", &DataOptions::weights, ".npy of a weight a sample, beside a .npy train file"),
      Path("valid_weights", &DataOptions::valid_weights, ".npy of a weight a sample, beside a .npy validation file"),
      Path("initial_state", &DataOptions::initial_state, ".npy of what State begins with, beside a .npy train file"),
      Path("valid_initial_state", &DataOptions::valid_initial_state, "the same beside a .npy validation file"),
      Path("valid_lengths", &DataOptions::valid_lengths, ".npy of lengths, beside a .npy validation file"),
      ValidField(),
      Whole("vocabulary", &DataOptions::vocabulary, kIds, "ids lie below it, text: most tokens; 0: as there are",
            {"vocab_size", "max_tokens"}),
      Path("target_lengths", &DataOptions::target_lengths, "loss ctc: .npy of labels a target, beside a .npy train file"),
      Path("valid_target_lengths", &DataOptions::valid_target_lengths, "the same beside a .npy validation file"),
      OneOf("format", &DataOptions::format, kFormats, "of text: auto, text, tsv, csv, jsonl or conll"),
      Column("text", &DataOptions::text, "column of the text, by its name or number"),
      Columns("label", &DataOptions::label, "column of the label, or columns of values"),
      Columns("inputs", &DataOptions::inputs, "columns of numbers instead of text"),
      Columns("categories", &DataOptions::categories, "columns of a table: a feature for each of their values"),
      Columns("dates", &DataOptions::dates, "columns of ISO dates: their place in day, week and year as features"),
      Column("series", &DataOptions::series, "forecast: column that names the series of a row; empty: there is one"),
      Flag("header", &DataOptions::header, "of a table; unset: where a column is asked for by a name"),
      OneOf("tokens", &DataOptions::tokens, kTokens, "auto, byte, char, word, bpe or ids"),
      Flag("lower", &DataOptions::lower, "words in small letters"),
      Text("label_separator", &DataOptions::label_separator,
           "stands between several labels of a sample or step; empty: one each"),
      Whole("window", &DataOptions::window, {0, 1'000'000'000}, "lm: steps of a piece of one long text; forecast: steps seen"),
      Whole("horizon", &DataOptions::horizon, {1, 16384}, "forecast: steps to say in advance"),
      Whole("stride", &DataOptions::stride, {1, 1'000'000'000}, "forecast: steps from a sample to the next"),
      Whole("max_length", &DataOptions::max_length, {0, kMostIds}, "longer samples are cut, and counted; 0: none is"),
      Whole("skip_bad", &DataOptions::skip_bad, {0, 1'000'000'000}, "bad lines that are passed over and listed"),
      Path("dictionary", &DataOptions::dictionary, "a model folder whose vocabulary and labels are used; empty: none"),
      Path("cache", &DataOptions::cache, "folder of Stores; empty: $XDG_CACHE_HOME/plimsoll"),
  };
}

std::vector<Field<TrainOptions>> TrainFields() {
  using T = TrainOptions;
  return {
      Whole("batch_size", &T::batch_size, {1, 1'000'000}, "sequences one update covers"),
      Whole("batch_tokens", &T::batch_tokens, {0, 1'000'000'000}, "instead: at most so many steps an update; 0: off"),
      Whole("length_window", &T::length_window, {0, 1'000'000}, "samples among which similar lengths come together; 0: off"),
      Whole("epochs", &T::epochs, {1, 1'000'000'000}, "passes over the training data", {"num_epochs", "max_epochs"}),
      Whole("max_steps", &T::max_steps, {0, 1'000'000'000'000}, "updates; 0: no limit"),
      OneOf("loss", &T::loss, kLosses, "auto: as the task asks; see docs/training.md"),
      Number("label_smoothing", &T::label_smoothing, kShareBelowOne, "crossentropies: share of a target spread over all"),
      Number("huber_delta", &T::huber_delta, {.min = 0.0, .max = 1e9, .without_min = true}, "huber: where the parabola ends"),
      NumberList("class_weight", &T::class_weight, {.min = 0.0, .max = 1e9}, "classify: what an item of each class counts"),
      OneOf("optimizer", &T::optimizer, kOptimizers, "adam, adamw, sgd, rmsprop, adagrad or lazy_adam"),
      LearningRateField(),
      Number("beta_1", &T::beta_1, kShareBelowOne, "the adams: decay of the mean"),
      Number("beta_2", &T::beta_2, kShareBelowOne, "the adams: decay of the square"),
      Number("epsilon", &T::epsilon, {.min = 0.0, .max = 1.0, .without_min = true}, "all but sgd: keeps the divisor from zero",
             {"eps"}),
      Number("weight_decay", &T::weight_decay, {.min = 0.0, .max = 1000.0},
             "adamw: times the rate, what a weight loses; biases lose none"),
      Number("momentum", &T::momentum, kShareBelowOne, "sgd: decay of the velocity; 0: none"),
      Flag("nesterov", &T::nesterov, "sgd with momentum: looks ahead"),
      Number("rho", &T::rho, kShareBelowOne, "rmsprop: decay of the square"),
      Number("initial_accumulator_value", &T::initial_accumulator_value, {.min = 0.0, .max = 1e9},
             "adagrad: first sum of squares"),
      Number("clip_norm", &T::clip_norm, {.min = 0.0, .max = 1e9}, "bound on the norm of the whole gradient; 0: off",
             {"global_clipnorm", "max_grad_norm", "max_norm"}),
      Number("clip_value", &T::clip_value, {.min = 0.0, .max = 1e9}, "bound on each element of the gradient; 0: off",
             {"clipvalue"}),
      Number("clip_tensor_norm", &T::clip_tensor_norm, {.min = 0.0, .max = 1e9},
             "bound on the norm of each tensor's gradient; 0: off", {"clipnorm"}),
      OneOf("lr_schedule", &T::lr_schedule, kSchedules,
            "constant, linear, cosine, polynomial, inverse_sqrt, step, exponential, one_cycle or plateau",
            {"lr_scheduler_type"}),
      Whole("warmup_steps", &T::warmup_steps, {0, 1'000'000'000'000}, "updates in which the rate rises from 0",
            {"num_warmup_steps"}),
      Number("lr_end_factor", &T::lr_end_factor, {.min = 0.0, .max = 1.0}, "linear, cosine, polynomial: share left at the end"),
      Number("lr_power", &T::lr_power, {.min = 0.0, .max = 100.0, .without_min = true}, "polynomial: 1 is a straight line"),
      Number("lr_decay_rate", &T::lr_decay_rate, {.min = 0.0, .max = 1.0, .without_min = true},
             "step, exponential: factor of lr_decay_steps updates", {"gamma"}),
      Whole("lr_decay_steps", &T::lr_decay_steps, {0, 1'000'000'000'000}, "step, exponential: 0: a third of the run",
            {"step_size"}),
      Number("plateau_factor", &T::plateau_factor, kShareBelowOne, "plateau: what the rate is multiplied with"),
      Whole("plateau_patience", &T::plateau_patience, {0, 1'000'000'000}, "plateau: epochs without a better loss before that"),
      Number("plateau_min_delta", &T::plateau_min_delta, {.min = 0.0, .max = 1e9}, "plateau: a better loss is lower by more"),
      Number("plateau_min_lr", &T::plateau_min_lr, {.min = 0.0, .max = 1000.0}, "plateau: the rate falls no further"),
      MetricsField(),
      Whole("top_k", &T::top_k, {1, 65536}, "top_k_accuracy: a hit is among so many largest outputs"),
      OneOf("monitor", &T::monitor, kMonitors, "auto, loss, accuracy, val_loss, val_accuracy or val_ and a metric"),
      Whole("patience", &T::patience, {0, 1'000'000'000}, "epochs without a better monitor before the end; 0: off",
            {"early_stopping_patience"}),
      Number("min_delta", &T::min_delta, {.min = 0.0, .max = 1e9}, "patience: what is better is so by more"),
      Flag("restore_best", &T::restore_best, "the model is that of the best epoch; unset: with patience",
           {"restore_best_weights", "load_best_model_at_end"}),
      Flag("skip_nonfinite", &T::skip_nonfinite, "leave out an update that is not finite, a few times"),
      SaveEveryField(),
      Whole("keep", &T::keep, {2, 1000}, "snapshots that stay, beside the best", {"save_total_limit", "max_to_keep"}),
      Flag("use_ema", &T::use_ema, "score and save a running average of the weights"),
      Number("ema_momentum", &T::ema_momentum, kShareBelowOne, "share of the average that stays at each update", {"ema_decay"}),
      Whole("truncate", &T::truncate, {0, 1'000'000'000}, "steps that backpropagation sees; 0: all of them", {"bptt"}),
      Flag("shuffle", &T::shuffle, "a new order each epoch"),
      SeedField(),
      Whole("threads", &T::threads, {0, 256}, "0: all cores"),
  };
}

std::vector<Field<MemoryOptions>> MemoryFields() {
  return {
      BudgetField(),
      Path("spill", &MemoryOptions::spill, "a folder on a real disk for State that recompute begins from; empty: none"),
      Whole("max_recompute", &MemoryOptions::max_recompute, {0, 1000}, "times a block may be run again, at most"),
  };
}

// The two penalties on a tensor, l1 and l2.
template <typename Options>
void AddPenalties(std::vector<Field<Options>>& fields, const std::string& tensor, double Options::*l1, double Options::*l2) {
  constexpr NumberRange kFactor = {.min = 0.0, .max = 1e9};
  fields.push_back(Number(tensor + "_l1", l1, kFactor, "the loss has so much of the sum of |w|"));
  fields.push_back(Number(tensor + "_l2", l2, kFactor, "the loss has so much of the sum of squares"));
}
std::vector<Field<EmbeddingOptions>> EmbeddingFields() {
  std::vector<Field<EmbeddingOptions>> fields = {
      Whole("input_dim", &EmbeddingOptions::input_dim, kIds, "number of ids; 0: the data's vocabulary", {"num_embeddings"}),
      Whole("output_dim", &EmbeddingOptions::output_dim, {1, kMostUnits}, "width of a vector", {"embedding_dim"}),
      Flag("mask_zero", &EmbeddingOptions::mask_zero, "id 0 before or behind a row is padding"),
      OneOf("embeddings_initializer", &EmbeddingOptions::embeddings_initializer, kInitializers,
            "first vectors; see docs/layers.md"),
      Path("weights", &EmbeddingOptions::weights, "a file of first vectors, text or .npy; empty: none"),
  };
  AddPenalties(fields, "embeddings", &EmbeddingOptions::embeddings_l1, &EmbeddingOptions::embeddings_l2);
  return fields;
}
// What LSTM, GRU and SimpleRNN share, then each one's own.
template <RecurrentOptions Options>
std::vector<Field<Options>> RecurrentFields(std::vector<Field<Options>> own) {
  std::vector<Field<Options>> fields = {
      Whole("units", &Options::units, {1, kMostUnits}, "width of the state", {"hidden_size"}),
      Flag("return_sequences", &Options::return_sequences, "every step or the last; unset: as the next layer needs"),
      Flag("use_bias", &Options::use_bias, "false: sums begin at zero", {"bias"}),
      OneOf("activation", &Options::activation, kActivations, "of candidates; any but softmax", {"nonlinearity"}),
  };
  if constexpr (requires(Options options) { options.recurrent_activation; }) {
    fields.push_back(OneOf("recurrent_activation", &Options::recurrent_activation, kActivations, "of gates; any but softmax"));
  }
  std::move(own.begin(), own.end(), std::back_inserter(fields));
  fields.push_back(OneOf("kernel_initializer", &Options::kernel_initializer, kInitializers, kKernelStart));
  fields.push_back(
      OneOf("recurrent_initializer", &Options::recurrent_initializer, kInitializers, "first weights of the state"));
  fields.push_back(OneOf("bias_initializer", &Options::bias_initializer, kInitializers, kBiasStart));
  AddPenalties(fields, "kernel", &Options::kernel_l1, &Options::kernel_l2);
  AddPenalties(fields, "recurrent", &Options::recurrent_l1, &Options::recurrent_l2);
  AddPenalties(fields, "bias", &Options::bias_l1, &Options::bias_l2);
  fields.push_back(Flag("go_backwards", &Options::go_backwards, "from the end; of the first recurrent layer alone"));
  fields.push_back(Flag("return_state", &Options::return_state, "NAME_state can be read: h, then c, at the end"));
  fields.push_back(Text("initial_state", &Options::initial_state, "\"data\": each sample brings its own; empty: zeros"));
  fields.push_back(Flag("stateful", &Options::stateful, "State goes on from batch to batch, row by row"));
  fields.push_back(Number("dropout", &Options::dropout, kShareBelowOne, "share of inputs dropped, the same at all steps"));
  fields.push_back(
      Number("recurrent_dropout", &Options::recurrent_dropout, kShareBelowOne, "the same of h before its products"));
  return fields;
}
std::vector<Field<LSTMOptions>> LstmFields() {
  return RecurrentFields<LSTMOptions>(
      {Flag("unit_forget_bias", &LSTMOptions::unit_forget_bias, "the forget gate's bias begins at 1"),
       Whole("proj_size", &LSTMOptions::proj_size, {0, kMostUnits}, "h is a projection of so many values; 0: none"),
       Flag("layer_normalization", &LSTMOptions::layer_normalization, "of both sums of products and of c", {"layer_norm"}),
       Number("epsilon", &LSTMOptions::epsilon, kVarianceFloor, "layer_normalization: added to the variance",
              {"norm_epsilon", "layer_norm_epsilon"})});
}
std::vector<Field<GRUOptions>> GruFields() {
  return RecurrentFields<GRUOptions>(
      {Flag("reset_after", &GRUOptions::reset_after, "the reset gate acts behind its product; false: before it")});
}
std::vector<Field<PoolingOptions>> PoolingFields() {
  return {OneOf("mode", &PoolingOptions::mode, kPoolingModes, "last, mean or max over time, or the State at the end")};
}
std::vector<Field<DenseOptions>> DenseFields() {
  std::vector<Field<DenseOptions>> fields = {
      Whole("units", &DenseOptions::units, {0, kMostUnits}, "width of the output; 0: what the task asks for", {"out_features"}),
      OneOf("activation", &DenseOptions::activation, kActivations, kActivationsAbout),
      OneOf("kernel_initializer", &DenseOptions::kernel_initializer, kInitializers, kKernelStart),
      OneOf("bias_initializer", &DenseOptions::bias_initializer, kInitializers, kBiasStart),
  };
  AddPenalties(fields, "kernel", &DenseOptions::kernel_l1, &DenseOptions::kernel_l2);
  AddPenalties(fields, "bias", &DenseOptions::bias_l1, &DenseOptions::bias_l2);
  fields.push_back(Text("tied_to", &DenseOptions::tied_to, "the Embedding whose table is the kernel; empty: none"));
  return fields;
}
std::vector<Field<ActivationOptions>> ActivationFields() {
  return {OneOf("activation", &ActivationOptions::activation, kActivations, kActivationsAbout)};
}
std::vector<Field<LayerNormalizationOptions>> LayerNormalizationFields() {
  return {Number("epsilon", &LayerNormalizationOptions::epsilon, kVarianceFloor, "keeps the divisor from zero", {"eps"})};
}
Field<DropoutOptions> RateField() {
  return Number("rate", &DropoutOptions::rate, kShareBelowOne, "share of inputs set to zero while training", {"p"});
}
std::vector<Field<DropoutOptions>> DropoutFields() {
  return {RateField(), Flag("spatial", &DropoutOptions::spatial, "one mask for all steps of a sequence")};
}
std::vector<Field<Conv1DOptions>> Conv1DFields() {
  using C = Conv1DOptions;
  std::vector<Field<C>> fields = {
      Whole("filters", &C::filters, {1, kMostUnits}, "width of the output", {"out_channels"}),
      Whole("kernel_size", &C::kernel_size, {1, 1024}, "steps that it looks at: its own and those before"),
      Whole("dilation_rate", &C::dilation_rate, {1, 65536}, "how far apart they lie", {"dilation"}),
      OneOf("activation", &C::activation, kActivations, kActivationsAbout),
      Flag("use_bias", &C::use_bias, "false: sums begin at zero", {"bias"}),
      OneOf("kernel_initializer", &C::kernel_initializer, kInitializers, kKernelStart),
      OneOf("bias_initializer", &C::bias_initializer, kInitializers, kBiasStart),
  };
  AddPenalties(fields, "kernel", &C::kernel_l1, &C::kernel_l2);
  AddPenalties(fields, "bias", &C::bias_l1, &C::bias_l2);
  return fields;
}
std::vector<Field<MergeOptions>> MergeFields() {
  return {OneOf("mode", &MergeOptions::mode, kMergeModes, "concatenate, add or multiply")};
}

// The fields of a part as fields of the whole that holds it; `part` finds the one in the other.
template <typename Outer, typename Inner, typename PartOf>
void Append(std::vector<Field<Outer>>& all, const std::string& prefix, std::vector<Field<Inner>> fields, PartOf part) {
  for (Field<Inner>& field : fields) {
    all.push_back({.key = prefix + field.key,
                   .about = std::move(field.about),
                   .aliases = std::move(field.aliases),
                   .set = [part, set = std::move(field.set)](Outer& outer, const JobValue& value,
                                                             const KeyPlace& at) { return set(part(outer), value, at); },
                   .get = [part, get = std::move(field.get)](const Outer& outer) { return get(part(outer)); }});
  }
}

template <typename Options>
LayerType TypeOf(std::string_view name, Names aliases, Options start, std::vector<Field<Options>> fields) {
  LayerType type = {.name = name, .aliases = std::move(aliases), .start = start, .fields = {}};
  type.fields.push_back(Text("name", &LayerOptions::name, "empty: the type in lower case with a counter"));
  type.fields.push_back(TextList("inputs", &LayerOptions::inputs, "names of layers; left out: the layer before"));
  const auto part = [](auto& layer) -> auto& { return std::get<Options>(layer.kind); };
  Append(type.fields, "", std::move(fields), part);
  if constexpr (WeightedOptions<Options>) {
    type.fields.push_back(
        Flag("trainable", &LayerOptions::trainable, "false: the weights stay as they begin", {"requires_grad"}));
  }
  return type;
}

struct ForeignName {
  std::string_view scope;  // one or several, with blanks between
  std::string_view name;
  std::string_view hint;
};
constexpr std::string_view kRecurrent = "LSTM GRU SimpleRNN";
constexpr std::string_view kWithKernel = "LSTM GRU SimpleRNN Dense Conv1D";
constexpr std::array kForeignNames = {
    ForeignName{kRecurrent, "num_layers", "write one [[model.layers]] entry for each layer"},
    ForeignName{kRecurrent, "input_size", "leave it out: the width of the input is known from the layer before"},
    ForeignName{kRecurrent, "batch_first", "leave it out: data are always (samples, steps, features)"},
    ForeignName{kRecurrent, "input_shape", "leave it out: it is known from the data"},
    ForeignName{kWithKernel, "kernel_regularizer", "write kernel_l1 or kernel_l2: the factors themselves"},
    ForeignName{kRecurrent, "recurrent_regularizer", "write recurrent_l1 or recurrent_l2: the factors themselves"},
    ForeignName{kWithKernel, "bias_regularizer", "write bias_l1 or bias_l2: the factors themselves"},
    ForeignName{"Embedding", "embeddings_regularizer", "write embeddings_l1 or embeddings_l2: the factors themselves"},
    ForeignName{"Conv1D", "padding", "leave it out: a convolution here looks back alone, as \"causal\" in Keras"},
    ForeignName{"Conv1D", "strides", "leave it out: every step has its output"},
    ForeignName{"Conv1D", "in_channels", "leave it out: the width of the input is known from the layer before"},
    ForeignName{"Dense", "in_features", "leave it out: the width of the input is known from the layer before"},
    ForeignName{"Dense", "layer", "write the Dense's own keys beside type = \"TimeDistributed\""},
    ForeignName{"Dense", "use_bias", "leave it out: a Dense always has its bias"},
    ForeignName{"Dense", "bias", "leave it out: a Dense always has its bias"},
    ForeignName{"Dense", "tie_weights", "write tied_to = \"embedding\": the name of the Embedding"},
    ForeignName{"Embedding", "tie_weights", "write tied_to on the Dense: the name of this layer"},
    ForeignName{"Dense", "input_shape", "leave it out: it is known from the data"},
    ForeignName{"Embedding", "padding_idx", "leave it out: lengths say where a row ends"},
    ForeignName{"Embedding", "input_length", "leave it out: rows may have any length"},
    ForeignName{"train", "betas", "write beta_1 and beta_2"},
    ForeignName{"train", "amsgrad", "leave it out: adam and adamw are the plain ones"},
    ForeignName{"train", "centered", "leave it out: rmsprop is the plain one"},
    ForeignName{"train", "warmup_ratio", "write warmup_steps: a number of updates"},
    ForeignName{"train", "min_lr", "with lr_schedule = \"plateau\": write plateau_min_lr"},
    ForeignName{"train", "memory", "write budget in [memory]"},
    ForeignName{"train", "loss_weights", "write loss_weight on each of [[outputs]]"},
    ForeignName{"model.layers", "Bidirectional", "Bidirectional is not there yet"},
    ForeignName{"model", "type", "write each layer as an entry of [[model.layers]]"},
};

}  // namespace

std::string KeyPlace::Prefix() const { return file.empty() ? "" : fmt::format("{}:{}: ", file, line); }

const std::vector<Field<Job>>& JobFields() {
  static const std::vector<Field<Job>> kFields = [] {
    std::vector<Field<Job>> all = TopFields();
    Append(
        all, "data.", DataFields(), [](auto& job) -> auto& { return job.data; });
    Append(
        all, "train.", TrainFields(), [](auto& job) -> auto& { return job.train; });
    Append(
        all, "memory.", MemoryFields(), [](auto& job) -> auto& { return job.memory; });
    return all;
  }();
  return kFields;
}

const std::vector<Field<OutputOptions>>& OutputFields() {
  using O = OutputOptions;
  static const std::vector<Field<O>> kFields = {
      Text("layer", &O::layer, "the Dense that gives it"),
      Text("targets", &O::targets, "its array in the .npz; empty: y_ and the layer's name"),
      OneOf("loss", &O::loss, kLosses, "auto: by the targets, whole numbers being classes"),
      Number("loss_weight", &O::loss_weight, {.min = 0.0, .max = 1e9, .without_min = true}, "what its loss counts in the sum"),
  };
  return kFields;
}

const std::vector<LayerType>& LayerTypes() {
  static const std::vector<LayerType> kTypes = {
      TypeOf("Embedding", {}, EmbeddingOptions{}, EmbeddingFields()),
      TypeOf("LSTM", {}, LSTMOptions{}, LstmFields()),
      TypeOf("GRU", {}, GRUOptions{}, GruFields()),
      TypeOf("SimpleRNN", {"RNN"}, SimpleRNNOptions{}, RecurrentFields<SimpleRNNOptions>({})),
      TypeOf("Pooling", {}, PoolingOptions{}, PoolingFields()),
      TypeOf("Dense", {"Linear", "TimeDistributed"}, DenseOptions{}, DenseFields()),
      TypeOf("Activation", {}, ActivationOptions{}, ActivationFields()),
      TypeOf("LayerNormalization", {"LayerNorm"}, LayerNormalizationOptions{}, LayerNormalizationFields()),
      TypeOf("Dropout", {}, DropoutOptions{}, DropoutFields()),
      TypeOf("Merge", {}, MergeOptions{}, MergeFields()),
      TypeOf("CRF", {}, CRFOptions{}, {}),
      TypeOf("CTC", {}, CTCOptions{}, {}),
      TypeOf<CustomOptions>("Custom", {}, {}, {Text("function", &CustomOptions::function, "its name in the program")}),
      TypeOf("Conv1D", {}, Conv1DOptions{}, Conv1DFields()),
      TypeOf<MaskingOptions>("Masking", {}, {},
                             {Number("mask_value", &MaskingOptions::mask_value, {.min = -1e9, .max = 1e9}, "of padding")}),
      TypeOf<MergeOptions>("Concatenate", {}, {.mode = MergeMode::Concatenate}, {}),
      TypeOf<MergeOptions>("Add", {}, {.mode = MergeMode::Add}, {}),
      TypeOf<MergeOptions>("Multiply", {}, {.mode = MergeMode::Multiply}, {}),
      TypeOf<DropoutOptions>("SpatialDropout1D", {}, {.spatial = true}, {RateField()}),
      TypeOf<PoolingOptions>("GlobalAveragePooling1D", {}, {.mode = PoolingMode::Mean}, {}),
      TypeOf<PoolingOptions>("GlobalMaxPooling1D", {}, {.mode = PoolingMode::Max}, {}),
  };
  return kTypes;
}

std::string_view HintForForeignName(std::string_view scope, std::string_view name) {
  for (const ForeignName& foreign : kForeignNames) {
    const bool here = !scope.empty() && foreign.scope.find(scope) != std::string_view::npos;
    if (here && SameName(foreign.name, name)) return foreign.hint;
  }
  return "";
}

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace plimsoll
