#include "report/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "plimsoll/plan.h"
#include "plimsoll/version.h"

namespace plimsoll {
namespace {

constexpr double kMegabyte = 1e6;
constexpr size_t kNameBytes = 80;
constexpr size_t kMostMessageBytes = 400;
constexpr const char* kCsvHead =
    "epoch,update,seconds,loss,accuracy,val_loss,val_accuracy,val_label_error_rate,learning_rate,epoch_seconds,valid_seconds,"
    "peak_bytes,resident_bytes,planned_bytes,budget_bytes";

double WallSeconds() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// A column that a run does not have is empty.
template <size_t capacity>
void AddCell(FixedText<capacity>& line, bool has, double value) {
  if (has) {
    line.Add(",{}", value);
  } else {
    line.Append(",");
  }
}

}  // namespace

const char* PhaseName(Phase phase) {
  constexpr std::array<const char*, kPhases> kNames = {"read",   "forward", "recompute", "slots",
                                                       "replay", "loss",    "backward",  "update"};
  return kNames[static_cast<size_t>(phase)];
}

const char* ExampleKindName(ExampleKind kind) {
  constexpr std::array<const char*, 5> kNames = {"classes", "steps", "spelt", "labels", "values"};
  return kNames[static_cast<size_t>(kind)];
}

Status RunLog::Open(const std::string& run_folder, std::span<const Metric> metrics) {
  metrics_ = metrics;
  PLIMSOLL_RETURN_IF_ERROR(OpenLog(csv_, run_folder + "/metrics.csv"));
  PLIMSOLL_RETURN_IF_ERROR(OpenLog(lines_, run_folder + "/metrics.jsonl"));
  const double now = WallSeconds();
  PLIMSOLL_RETURN_IF_ERROR(
      OpenLog(events_, fmt::format("{}/events.out.tfevents.{:.0f}.{}.plimsoll", run_folder, now, ::getpid())));
  Append(events_, record_.Version(now));
  if (::lseek(csv_.descriptor.number(), 0, SEEK_END) == 0) {
    line_.Clear();
    line_.Append(kCsvHead);
    for (size_t i = 0; i < kPhases; ++i) line_.Add(",{}_ms", PhaseName(static_cast<Phase>(i)));
    for (const Metric metric : metrics_) {
      if (metric != Metric::Accuracy) line_.Add(",{},{}", MetricName(metric), FactsOf(metric).monitored);
    }
    line_.Append("\n");
    Append(csv_, line_.view());
    line_.Clear();
  }
  return failure_;
}

Status RunLog::OpenLog(LogFile& file, const std::string& path) {
  file.path = path;
  file.descriptor = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.descriptor.is_open()) return WriteFailure(path, "create the file", errno);
  // A run that was killed may have left half a line.
  const off_t size = ::lseek(file.descriptor.number(), 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(file.descriptor.number(), &last, 1, size - 1) == 1 && last != '\n') Append(file, "\n");
  return failure_;
}

void RunLog::Append(LogFile& file, std::string_view bytes) {
  while (!bytes.empty() && failure_.ok()) {
    const ssize_t written = ::write(file.descriptor.number(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      failure_ = WriteFailure(file.path, "write", errno);
      if (next_ != nullptr) next_->Message(failure_.message());
    }
  }
}

double RunLog::Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

void RunLog::Begin(std::string_view event) {
  line_.Clear();
  line_.Add("{{\"event\":\"{}\",\"seconds\":{:.3f}", event, Seconds());
}

void RunLog::Finish() {
  line_.Append("}\n");
  Flush();
}

void RunLog::AddScore(const char* prefix, const Score& score) {
  const auto add = [&](const char* name, double value) {
    FixedText<48> key;
    key.Add("{}{}", prefix, name);
    AddJsonNumber(line_, key.view(), value);
  };
  add("loss", score.loss);
  if (score.accuracy >= 0.0) add("accuracy", score.accuracy);
  if (score.label_error_rate >= 0.0) add("label_error_rate", score.label_error_rate);
  for (const MetricValue& metric : score.metrics) add(MetricName(metric.metric), metric.value);
}

void RunLog::AddPhases(const Phases& phase_ms) {
  line_.Append(",\"phase_ms\":{");
  for (size_t i = 0; i < kPhases; ++i)
    line_.Add("{}\"{}\":{:.4g}", i == 0 ? "" : ",", PhaseName(static_cast<Phase>(i)), phase_ms[i]);
  line_.Append("}");
}

void RunLog::Reading(const ReadingReport& report) {
  if (next_ != nullptr) next_->Reading(report);
}

void RunLog::Started(const RunFacts& facts) {
  Begin("run");
  line_.Add(",\"version\":\"{}\",\"time\":{:.0f},\"task\":\"{}\",\"samples\":{},\"valid_samples\":{}", kVersion, WallSeconds(),
            facts.task, facts.samples, facts.valid_samples);
  line_.Add(",\"epochs\":{},\"steps_per_epoch\":{},\"batch_size\":{},\"threads\":{},\"parameters\":{}", facts.epochs,
            facts.steps_per_epoch, facts.batch_size, facts.threads, facts.parameters);
  const LengthCounts& lengths = facts.lengths;
  line_.Add(",\"lengths\":{{\"shortest\":{},\"longest\":{},\"mean\":{:.1f},\"bin_steps\":{},\"counts\":[", lengths.shortest,
            lengths.longest, lengths.mean, lengths.bin_steps);
  for (size_t i = 0; i < lengths.bins; ++i) line_.Add("{}{}", i == 0 ? "" : ",", lengths.counts[i]);
  line_.Append("]},\"layers\":[");
  Flush();
  for (size_t i = 0; i < facts.layers.size(); ++i) {
    line_.Append(i == 0 ? "\"" : ",\"");
    AddJsonText(line_, std::string_view(facts.layers[i]).substr(0, kNameBytes));
    line_.Append("\"");
    Flush();
  }
  line_.Append("]");
  Finish();
  if (next_ != nullptr) next_->Started(facts);
}

void RunLog::Planned(const Plan& plan) {
  planned_bytes_ = plan.peak_bytes;
  budget_bytes_ = plan.budget_bytes;
  Begin("plan");
  line_.Add(",\"update\":{},\"budget_bytes\":{},\"planned_bytes\":{},\"min_bytes\":{},\"full_speed_bytes\":{}", update_,
            plan.budget_bytes, plan.peak_bytes, plan.min_bytes, plan.full_speed_bytes);
  Finish();
  if (next_ != nullptr) next_->Planned(plan);
}

void RunLog::Note(std::string_view text) {
  if (!lines_.descriptor.is_open()) return;  // what is told before there is a folder is not for the log
  Begin("message");
  line_.Add(",\"update\":{},\"text\":\"", update_);
  AddJsonText(line_, text.substr(0, kMostMessageBytes));
  line_.Append("\"");
  Finish();
}

void RunLog::Message(std::string_view text) {
  Note(text);
  if (next_ != nullptr) next_->Message(text);
}

void RunLog::Work(const WorkReport& report) {
  if (next_ != nullptr) next_->Work(report);
}

void RunLog::Saved(const SaveReport& report) {
  Begin("saved");
  line_.Add(",\"update\":{},\"generation\":{},\"bytes\":{},\"save_seconds\":{:.3f},\"best\":{}", report.updates,
            report.generation, report.bytes, report.seconds, report.best);
  Finish();
  if (next_ != nullptr) next_->Saved(report);
}

void RunLog::Resumed(int64_t updates, int64_t epoch) {
  update_ = updates;
  Begin("resumed");
  line_.Add(",\"update\":{},\"epoch\":{}", updates, epoch);
  Finish();
  if (next_ != nullptr) next_->Resumed(updates, epoch);
}

void RunLog::Step(const StepReport& report) {
  update_ = report.update;
  resident_bytes_ = report.resident_bytes;
  learning_rate_ = report.learning_rate;
  if (report.step_in_epoch <= 1) {
    loss_sum_ = hit_sum_ = 0.0;
    items_ = 0;
  }
  if (report.times != nullptr) {
    const auto all = static_cast<double>(report.items), now = static_cast<double>(std::max<int64_t>(1, report.items - items_));
    const double loss = (report.loss * all - loss_sum_) / now;
    const double accuracy = report.accuracy < 0.0 ? -1.0 : (report.accuracy * all - hit_sum_) / now;
    loss_sum_ = report.loss * all;
    hit_sum_ = report.accuracy * all;
    items_ = report.items;
    for (size_t i = 0; i < kPhases; ++i) phase_sum_[i] += report.times->phase_ms[i];
    ++measured_;

    Begin("step");
    line_.Add(",\"epoch\":{},\"step\":{},\"update\":{}", report.epoch, report.step_in_epoch, report.update);
    AddScore("", {.loss = loss, .accuracy = accuracy});
    AddJsonNumber(line_, "learning_rate", report.learning_rate);
    line_.Add(",\"step_ms\":{:.4g},\"resident_bytes\":{},\"planned_bytes\":{},\"budget_bytes\":{}", report.step_ms,
              report.resident_bytes, planned_bytes_, budget_bytes_);
    AddPhases(report.times->phase_ms);
    const auto add_layers = [&](const char* name, double LayerTime::*part) {
      line_.Add(",\"{}\":[", name);
      for (size_t i = 0; i < report.times->layers.size(); ++i) {
        line_.Add("{}{:.4g}", i == 0 ? "" : ",", report.times->layers[i].*part);
        if (i % 32 == 31) Flush();
      }
      line_.Append("]");
    };
    add_layers("layer_forward_ms", &LayerTime::forward_ms);
    add_layers("layer_backward_ms", &LayerTime::backward_ms);
    Finish();

    record_.Start();
    record_.Scalar("step", "loss", loss);
    if (accuracy >= 0.0) record_.Scalar("step", "accuracy", accuracy);
    record_.Scalar("step", "learning_rate", report.learning_rate);
    record_.Scalar("step", "ms", report.step_ms);
    record_.Scalar("memory_mb", "resident", static_cast<double>(report.resident_bytes) / kMegabyte);
    record_.Scalar("memory_mb", "planned", static_cast<double>(planned_bytes_) / kMegabyte);
    record_.Scalar("memory_mb", "budget", static_cast<double>(budget_bytes_) / kMegabyte);
    for (size_t i = 0; i < kPhases; ++i)
      record_.Scalar("phase_ms", PhaseName(static_cast<Phase>(i)), report.times->phase_ms[i]);
    Append(events_, record_.Finish(WallSeconds(), report.update));
  }
  if (next_ != nullptr) next_->Step(report);
}

void RunLog::Epoch(const EpochReport& report) {
  Phases phase_ms = {};
  for (size_t i = 0; i < kPhases && measured_ > 0; ++i) phase_ms[i] = phase_sum_[i] / static_cast<double>(measured_);

  Begin("epoch");
  line_.Add(",\"epoch\":{},\"epochs\":{},\"update\":{}", report.epoch, report.epochs, report.updates);
  AddScore("", report.train);
  if (report.has_valid) AddScore("val_", report.valid);
  AddJsonNumber(line_, "learning_rate", learning_rate_);
  line_.Add(",\"epoch_seconds\":{:.4g},\"valid_seconds\":{:.4g},\"peak_bytes\":{},\"resident_bytes\":{}", report.seconds,
            report.valid_seconds, report.peak_bytes, resident_bytes_);
  line_.Add(",\"planned_bytes\":{},\"budget_bytes\":{}", planned_bytes_, budget_bytes_);
  line_.Add(",\"useful_row_steps\":{},\"computed_row_steps\":{}", report.useful_row_steps, report.computed_row_steps);
  if (measured_ > 0) AddPhases(phase_ms);
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    line_.Append(i == 0 ? ",\"outputs\":[{\"output\":\"" : ",{\"output\":\"");
    AddJsonText(line_, std::string_view(report.outputs[i]).substr(0, kNameBytes));
    line_.Append("\"");
    AddScore("", {.loss = report.train.outputs[i].loss, .accuracy = report.train.outputs[i].accuracy});
    if (report.has_valid)
      AddScore("val_", {.loss = report.valid.outputs[i].loss, .accuracy = report.valid.outputs[i].accuracy});
    line_.Append(i + 1 == report.outputs.size() ? "}]" : "}");
    Flush();
  }
  Finish();
  WriteCsv(report, phase_ms);

  record_.Start();
  record_.Scalar("epoch", "loss", report.train.loss);
  if (report.train.accuracy >= 0.0) record_.Scalar("epoch", "accuracy", report.train.accuracy);
  if (report.has_valid) {
    record_.Scalar("epoch", "val_loss", report.valid.loss);
    if (report.valid.accuracy >= 0.0) record_.Scalar("epoch", "val_accuracy", report.valid.accuracy);
    if (report.valid.label_error_rate >= 0.0) record_.Scalar("epoch", "val_label_error_rate", report.valid.label_error_rate);
  }
  for (const MetricValue& metric : report.train.metrics) record_.Scalar("epoch", MetricName(metric.metric), metric.value);
  for (const MetricValue& metric : report.valid.metrics)
    record_.Scalar("epoch", FactsOf(metric.metric).monitored, metric.value);
  record_.Scalar("epoch", "seconds", report.seconds);
  record_.Scalar("memory_mb", "peak", static_cast<double>(report.peak_bytes) / kMegabyte);
  Append(events_, record_.Finish(WallSeconds(), report.updates));

  phase_sum_ = {};
  measured_ = 0;
  if (next_ != nullptr) next_->Epoch(report);
}

void RunLog::WriteCsv(const EpochReport& report, const Phases& phase_ms) {
  line_.Clear();
  line_.Add("{},{},{:.3f},{}", report.epoch, report.updates, Seconds(), report.train.loss);
  AddCell(line_, report.train.accuracy >= 0.0, report.train.accuracy);
  AddCell(line_, report.has_valid, report.valid.loss);
  AddCell(line_, report.has_valid && report.valid.accuracy >= 0.0, report.valid.accuracy);
  AddCell(line_, report.has_valid && report.valid.label_error_rate >= 0.0, report.valid.label_error_rate);
  line_.Add(",{},{:.4g},{:.4g},{},{},{},{}", learning_rate_, report.seconds, report.valid_seconds, report.peak_bytes,
            resident_bytes_, planned_bytes_, budget_bytes_);
  for (const double ms : phase_ms) {
    line_.Append(",");
    if (measured_ > 0) line_.Add("{:.4g}", ms);
  }
  for (const Metric metric : metrics_) {
    if (metric == Metric::Accuracy) continue;
    const double *train = report.train.metrics.Find(metric), *valid = report.valid.metrics.Find(metric);
    AddCell(line_, train != nullptr, train == nullptr ? 0.0 : *train);
    AddCell(line_, valid != nullptr, valid == nullptr ? 0.0 : *valid);
  }
  line_.Append("\n");
  Append(csv_, line_.view());
  line_.Clear();
}

void RunLog::AddExamples(const RunEnd& end) {
  if (end.examples.empty()) return;
  const auto has_values = [&](const Example& example) {
    return end.example_kind == ExampleKind::Values || (end.example_kind == ExampleKind::Labels && example.input < 0);
  };
  line_.Add(",\"example_kind\":\"{}\",\"examples\":[", ExampleKindName(end.example_kind));
  Flush();
  for (size_t i = 0; i < end.examples.size(); ++i) {
    const Example& example = end.examples[i];
    line_.Add("{}{{\"sample\":{},\"step\":{}", i == 0 ? "" : ",", example.sample, example.step);
    if (example.input >= 0) line_.Add(",\"input\":{}", example.input);
    if (example.target >= 0) line_.Add(",\"target\":{}", example.target);
    for (size_t k = 0; k < example.likely.size() && example.likely[k] >= 0; ++k)
      line_.Add("{}[{},{:.4g}]", k == 0 ? ",\"likely\":[" : ",", example.likely[k], example.probability[k]);
    if (example.likely[0] >= 0) line_.Append("]");
    if (has_values(example)) {
      AddJsonNumber(line_, "wanted", static_cast<double>(example.wanted));
      AddJsonNumber(line_, "given", static_cast<double>(example.given));
    }
    line_.Append("}");
    Flush();
  }
  line_.Append("]");
}

void RunLog::Ended(const RunEnd& end) {
  Begin("end");
  line_.Add(",\"updates\":{},\"epochs\":{},\"peak_bytes\":{}", end.updates, end.epochs, end.peak_bytes);
  AddScore("first_", end.first);
  AddScore("last_", end.last);
  if (!end.confusion.empty()) {
    line_.Add(",\"classes\":{},\"confusion\":[", end.classes);
    for (size_t i = 0; i < end.confusion.size(); ++i) {
      line_.Add("{}{}", i == 0 ? "" : ",", end.confusion[i]);
      if (i % 64 == 63) Flush();
    }
    line_.Append("]");
  }
  AddExamples(end);
  Finish();
  if (next_ != nullptr) next_->Ended(end);
}

}  // namespace plimsoll
