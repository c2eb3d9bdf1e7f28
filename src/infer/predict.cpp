// predict: a trained model looks at new data, window after window: read, run sorted by length, written in the order of the
// data.
#include "plimsoll/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/check.h"
#include "base/machine.h"
#include "infer/answers.h"
#include "infer/input_window.h"
#include "infer/text_source.h"
#include "model/spec.h"
#include "train/budget.h"
#include "train/model_folder.h"
#include "train/setup.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostRows = 512;  // of a window
constexpr int64_t kFewestSteps = 1024, kMostSteps = 1 << 20;
constexpr int64_t kArrayAnswerBytes = 8 * kMiB;
constexpr size_t kWriteAtOnce = 48 * 1024;
// Steps that the plan of a window has room for, for each of its own: 1 + 1/2 + ... + 1/64 (input_window.h).
constexpr double kPlannedSteps = 4.75;

// Arrays without targets, as a model sees them.
class WithoutTargets final : public Samples {
 public:
  WithoutTargets(std::unique_ptr<Samples> inputs, const SampleShape& shape, int32_t target)
      : inputs_(std::move(inputs)), shape_(shape), target_(target) {}
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return inputs_->count(); }
  int64_t length(int64_t sample) const override { return inputs_->length(sample); }
  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    return inputs_->ReadInputs(sample, first, steps, out);
  }
  Status ReadTargets(int64_t /*sample*/, int64_t /*first*/, int64_t steps, void* out) override {
    FillNoTargets(shape_, target_, steps, out);
    return Status::Ok();
  }
  Status ReadState(int64_t sample, float* out) override { return inputs_->ReadState(sample, out); }

 private:
  std::unique_ptr<Samples> inputs_;
  SampleShape shape_;
  int32_t target_;
};

Status CheckModel(const Job& job) {
  if (!job.outputs.empty())
    return Status::Usage("predict: the model has [[outputs]], and a line tells of one", "plimsoll evaluate scores all of them");
  if (job.task == Task::Lm)
    return Status::Usage("predict: a language model has no label to tell",
                         job.data.label_separator.empty() ? "plimsoll generate makes text, plimsoll evaluate scores one"
                                                          : "plimsoll evaluate scores it");
  for (const LayerOptions& layer : job.layers) {
    const bool carries = std::visit(
        [](const auto& options) {
          if constexpr (requires { options.stateful; }) return options.stateful;
          return false;
        },
        layer.kind);
    if (carries)
      return Status::Usage(fmt::format("predict: {} is stateful, and lines stand alone", layer.name),
                           "plimsoll evaluate goes on from batch to batch");
  }
  return Status::Ok();
}

// The job as one of looking alone.
void StripJob(Job& job, const PredictRequest& request) {
  const bool ctc = job.train.loss == Loss::Ctc, binary = job.train.loss == Loss::BinaryCrossentropy;
  job.train = {.loss = ctc      ? Loss::Ctc
                       : binary ? Loss::BinaryCrossentropy
                                : Loss::Auto,
               .threads = request.threads > 0 ? request.threads : job.train.threads};
  job.train.metrics.emplace();
  job.init_from.clear();
  job.data.valid_share = 0.0;
  job.data.valid_file.clear();
  if (!request.memory.empty()) job.memory.budget = request.memory;
  for (LayerOptions& layer : job.layers) {
    auto* custom = std::get_if<CustomOptions>(&layer.kind);
    for (size_t i = 0; custom != nullptr && i < request.custom_layers.size(); ++i) {
      if (request.custom_layers[i].function == custom->function) custom->layer = request.custom_layers[i].layer;
    }
  }
}

// Outputs of the last Dense: the width that the job's task gave it.
Result<int64_t> OutputWidth(const Job& job) {
  for (auto layer = job.layers.rbegin(); layer != job.layers.rend(); ++layer) {
    const auto* dense = std::get_if<DenseOptions>(&layer->kind);
    if (dense != nullptr && dense->units > 0) return dense->units;
  }
  return Status::Data("the model's job has no last Dense with its units", "name a model folder that a run has written");
}

bool HasBinaryLabels(const Job& job) { return job.train.loss == Loss::BinaryCrossentropy || !job.data.label_separator.empty(); }

// What the targets would look like, if there were any.
Status DescribeTargets(const Job& job, int64_t width, bool text, SampleShape& shape) {
  const bool ctc = job.train.loss == Loss::Ctc;
  shape.target_classes = HasClassTargets(job);
  shape.classes = shape.target_classes ? width : 0;
  shape.target_width = shape.target_classes ? 1 : width;
  shape.longest_target = ctc ? 1 : 0;
  shape.target_per_step = job.task == Task::Tag;
  if (text || ctc) return Status::Ok();
  // Of arrays the job does not say it, but its layers fit one of the two alone.
  shape.target_per_step = false;
  const Result<Spec> spec = MakeSpec(job, shape);
  if (spec.ok()) return Status::Ok();
  shape.target_per_step = true;
  return MakeSpec(job, shape).ok() ? Status::Ok() : spec.status();
}

class Prediction {
 public:
  Prediction(const PredictRequest& request, const PredictWriter& write) : request_(request), write_(write) {}

  Result<PredictResult> Run() {
    if (request_.top < 1) return Status::Usage(fmt::format("top: wanted a whole number from 1 on, got {}", request_.top));
    const Result<std::string> folder = FindModelFolder(request_.model);
    if (!folder.ok()) return folder.status();
    folder_ = folder.value();
    Result<Job> job = ReadModelJob(folder_);
    if (!job.ok()) return job.status();
    job_ = std::move(job).value();
    PLIMSOLL_RETURN_IF_ERROR(CheckModel(job_));
    StripJob(job_, request_);
    PLIMSOLL_RETURN_IF_ERROR(DescribeAnswers());
    const Result<bool> text = request_.data_file == kStdin ? Result<bool>(true) : IsText(request_.data_file);
    if (!text.ok()) return text.status();
    PLIMSOLL_RETURN_IF_ERROR(text.value() ? OpenText() : OpenArrays());
    if (form_.top > 1 && (form_.kind != AnswerOptions::Kind::Class || form_.per_step))
      return Status::Usage("--top: the likeliest classes are told where a sample has one class", "leave it out");
    PLIMSOLL_RETURN_IF_ERROR(ReadWeights(folder_, *setup_, *engine_));
    engine_->step.PrepareWeights();
    PLIMSOLL_RETURN_IF_ERROR(text.value() ? RunText() : RunArrays());
    PLIMSOLL_RETURN_IF_ERROR(Flush());
    result_.plan = setup_->plan;
    result_.peak_bytes = PeakResidentBytes();
    return std::move(result_);
  }

 private:
  Status DescribeAnswers();
  Status OpenText();
  Status OpenArrays();
  Status Plan(std::unique_ptr<Samples> samples, int64_t rows, int64_t held_bytes);
  Status RunText();
  Status AnswerWindow();
  Status RunArrays();
  Status RunWindow(int64_t first, int64_t count);
  Status FlushSome() { return lines_.size() < kWriteAtOnce ? Status::Ok() : Flush(); }
  Status Flush() {
    Status written = lines_.empty() ? Status::Ok() : write_(lines_);
    lines_.clear();
    return written;
  }

  const PredictRequest& request_;
  const PredictWriter& write_;
  std::string folder_;
  Job job_;
  AnswerOptions form_;
  std::unique_ptr<TextSource> source_;  // of text
  InputWindow* window_ = nullptr;       // the same
  std::unique_ptr<Setup> setup_;
  std::unique_ptr<Engine> engine_;
  std::optional<Answers> answers_;
  std::string lines_;
  PredictResult result_;
};

Status Prediction::DescribeAnswers() {
  const Result<int64_t> width = OutputWidth(job_);
  if (!width.ok()) return width.status();
  form_.width = width.value();
  form_.top = request_.top;
  form_.format = request_.format;
  form_.kind = job_.train.loss == Loss::Ctc  ? AnswerOptions::Kind::Spelling
               : HasBinaryLabels(job_)       ? AnswerOptions::Kind::Labels
               : HasClassTargets(job_)       ? AnswerOptions::Kind::Class
               : job_.task == Task::Forecast ? AnswerOptions::Kind::Forecast
                                             : AnswerOptions::Kind::Values;
  form_.decoded = std::any_of(job_.layers.begin(), job_.layers.end(),
                              [](const LayerOptions& layer) { return std::holds_alternative<CRFOptions>(layer.kind); });
  const std::string labels = fmt::format("{}/{}", folder_, kLabelsFile);
  std::error_code ignored;
  if (!std::filesystem::exists(labels, ignored)) return Status::Ok();
  Result<TokenTable> names = ReadLines(labels);
  if (!names.ok()) return names.status();
  if (names->size() != form_.width)
    return Status::Data(fmt::format("{}: has {} labels, the model {}", labels, names->size(), form_.width),
                        "the model folder is damaged: write the model again");
  form_.names = std::move(names).value();
  return Status::Ok();
}

// Plans with the answers and so many bytes more in the process base.
Status Prediction::Plan(std::unique_ptr<Samples> samples, int64_t rows, int64_t held_bytes) {
  job_.train.batch_size = rows;
  answers_.emplace(form_);
  lines_.reserve(2 * kWriteAtOnce);
  const std::vector<char> held(static_cast<size_t>(held_bytes), '\1');  // written to, and so resident
  Result<std::unique_ptr<Setup>> setup = SetUpWith(job_, std::move(samples), nullptr, {.training = false});
  if (!setup.ok()) return setup.status();
  PLIMSOLL_CHECK(held_bytes == 0 || held.back() == '\1', "what is held while the base is measured is there");
  setup_ = std::move(setup).value();
  Result<std::unique_ptr<Engine>> engine = Open(*setup_);
  if (!engine.ok()) return engine.status();
  engine_ = std::move(engine).value();
  return Status::Ok();
}

Status Prediction::OpenText() {
  if (!request_.lengths.empty() || !request_.initial_state.empty())
    return Status::Usage("--lengths and --initial-state belong beside a .npy file, and these data are text", "leave them out");
  const int64_t resident = ResidentBytes();
  const Result<Budget> budget = ResolveBudget(job_.memory.budget, ReadMemoryFacts(), resident);
  if (!budget.ok()) return budget.status();
  const int64_t room = std::max<int64_t>(budget.value().bytes - resident, 0);
  Result<std::unique_ptr<TextSource>> source = TextSource::Open(request_, job_, folder_, room);
  if (!source.ok()) return source.status();
  source_ = std::move(source).value();
  SampleShape shape{.ids = source_->ids(), .width = source_->width(), .vocabulary = source_->ids() ? source_->vocabulary() : 0};
  PLIMSOLL_RETURN_IF_ERROR(DescribeTargets(job_, form_.width, /*text=*/true, shape));
  form_.per_step = shape.target_per_step;
  form_.units = source_->units();

  const int64_t target = shape.target_per_step ? shape.target_width * 4 : 0;
  const double step_bytes = static_cast<double>(shape.width * 4) +
                            kPlannedSteps * static_cast<double>(shape.width * 4 + target) +
                            static_cast<double>(form_.item_per_step() ? form_.item_bytes() : 0);
  const int64_t fewest = std::max(kFewestSteps, source_->fewest_steps());
  form_.rows = std::clamp<int64_t>(room / 64 / form_.item_bytes(), 16, kMostRows);
  form_.steps =
      std::clamp(static_cast<int64_t>(static_cast<double>(room) / 16.0 / step_bytes), fewest, std::max(kMostSteps, fewest));
  while (true) {
    auto window = std::make_unique<InputWindow>(shape, InputWindow::Limits{.rows = form_.rows, .steps = form_.steps}, 0);
    window_ = window.get();
    Status planned = Plan(std::move(window), form_.rows, source_->reading_bytes());
    if (planned.kind() != StatusKind::OverBudget || form_.steps == fewest) {
      source_->Use(window_);
      return planned;
    }
    form_.steps = fewest;
  }
}

Status Prediction::OpenArrays() {
  if (form_.kind == AnswerOptions::Kind::Forecast) {
    std::error_code ignored;
    if (std::filesystem::exists(folder_ + kScaleFile, ignored))
      return Status::Usage("predict: the model forecasts series of a table, and these data are arrays",
                           "a table or JSON lines with the columns that the model was trained on");
    form_.kind = AnswerOptions::Kind::Values;  // it was trained on arrays, which have no unit
  }
  SamplesRequest asked = RequestOf(job_);
  asked.source = request_.data_file;
  asked.lengths = request_.lengths;
  asked.initial_state = request_.initial_state;
  asked.inputs_only = true;
  asked.unaligned = false;
  Result<std::unique_ptr<Samples>> samples = OpenSamples(asked);
  if (!samples.ok()) return samples.status();
  SampleShape shape = (*samples)->shape();
  PLIMSOLL_RETURN_IF_ERROR(DescribeTargets(job_, form_.width, /*text=*/false, shape));
  const bool spells = form_.kind == AnswerOptions::Kind::Spelling;
  form_.per_step = shape.target_per_step;
  int64_t longest = 1;
  for (int64_t sample = 0; sample < (*samples)->count(); ++sample) longest = std::max(longest, (*samples)->length(sample));
  const int64_t row_bytes = form_.item_bytes() * (form_.item_per_step() ? longest : 1);
  form_.rows = std::min(std::clamp<int64_t>(kArrayAnswerBytes / row_bytes, 1, kMostRows), (*samples)->count());
  form_.steps = form_.rows * longest;
  return Plan(std::make_unique<WithoutTargets>(std::move(samples).value(), shape, spells ? 1 : 0), form_.rows, 0);
}

Status Prediction::RunWindow(int64_t first, int64_t count) {
  const Samples& samples = *setup_->samples;
  int64_t* numbers = engine_->memory.owner(NetworkOwner::Batch).I64(EpochNumbers);
  for (int64_t i = 0; i < count; ++i) numbers[i] = first + i;
  answers_->Start(samples, first, count);
  engine_->step.SetOutputSink(&*answers_);
  Batch batch(setup_->samples.get(), engine_->batch_buffers(CarriedBy::Scores), setup_->plan.group_rows,
              setup_->network->spec().reversed, *setup_->pool);
  batch.Start(numbers, count);
  StepSums sums;
  for (int64_t group = 0; group < batch.groups(); ++group) {
    const Result<RowGroup> rows = batch.Read(group);
    if (!rows.ok()) return rows.status();
    engine_->step.EvaluateGroup(rows.value(), sums);
  }
  result_.samples += count;
  return Status::Ok();
}

Status Prediction::RunArrays() {
  const int64_t all = setup_->samples->count();
  for (int64_t first = 0; first < all; first += form_.rows) {
    const int64_t now = std::min(form_.rows, all - first);
    PLIMSOLL_RETURN_IF_ERROR(RunWindow(first, now));
    for (int64_t row = 0; row < now; ++row) {
      answers_->Append(lines_, row, {});
      PLIMSOLL_RETURN_IF_ERROR(FlushSome());
    }
  }
  return Status::Ok();
}

Status Prediction::RunText() {
  while (true) {
    const Result<bool> filled = source_->Fill();
    if (filled.ok() && !filled.value()) break;
    PLIMSOLL_RETURN_IF_ERROR(AnswerWindow());  // the lines before one that ends it, too
    if (!filled.ok()) {
      PLIMSOLL_RETURN_IF_ERROR(Flush());
      return filled.status();
    }
  }
  result_.bad = source_->bad().count();
  result_.bad_lines = source_->bad().first();
  result_.unseen = source_->unseen();
  result_.first_unseen = source_->first_unseen();
  return Status::Ok();
}

Status Prediction::AnswerWindow() {
  if (window_->rows() > 0) PLIMSOLL_RETURN_IF_ERROR(RunWindow(0, window_->rows()));
  const std::vector<std::string>& bad = source_->bad().first();
  for (const InputWindow::Entry& entry : window_->entries()) {
    const auto note = static_cast<size_t>(entry.note);
    if (entry.row < 0) {
      answers_->AppendBad(lines_, note < bad.size() ? std::string_view(bad[note]) : "a bad line");
    } else {
      answers_->Append(lines_, entry.row, window_->name(entry));
    }
    PLIMSOLL_RETURN_IF_ERROR(FlushSome());
  }
  return Status::Ok();
}

}  // namespace

Result<PredictResult> Predict(const PredictRequest& request, const PredictWriter& write) {
  FlushDenormals flush;
  ResetPeakResident();  // what a caller held before is not ours
  return Prediction(request, write).Run();
}

}  // namespace plimsoll
