#include "output.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

using plimsoll::ColorMode;
using plimsoll::ProgressFormat;

int Answer(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return 0;
  // A reader that has seen enough (`| head`) is no reason to complain.
  if (errno != EPIPE) fmt::print(stderr, "plimsoll: cannot write to stdout: {}\n", std::strerror(errno));
  return static_cast<int>(plimsoll::StatusKind::CannotWrite);
}

int AnswerJson(const Json& json) {
  return Answer(json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n");
}

int Fail(bool as_json, const plimsoll::Status& status) {
  if (as_json) {
    Json error = {{"code", status.exit_code()}, {"message", status.message()}, {"hint", status.hint()}};
    if (status.kind() == plimsoll::StatusKind::OverBudget) error["min_bytes"] = status.min_bytes();
    const int answered = AnswerJson(Json{{"error", std::move(error)}});
    return answered == 0 ? status.exit_code() : answered;
  }
  fmt::print(stderr, "plimsoll: {}\n", status.message());
  if (!status.hint().empty()) fmt::print(stderr, "  try: {}\n", status.hint());
  return status.exit_code();
}

std::unique_ptr<plimsoll::Observer> ProgressFor(const Arguments& arguments) {
  plimsoll::ProgressOptions options;
  options.fd = 2;
  if (arguments.log_format == "bar") options.format = ProgressFormat::Bar;
  if (arguments.log_format == "line") options.format = ProgressFormat::Line;
  if (arguments.log_format == "json") options.format = ProgressFormat::Json;
  if (arguments.log_format == "none" || arguments.quiet) options.format = ProgressFormat::None;
  if (arguments.color == "never") options.color = ColorMode::Never;
  if (arguments.color == "always") options.color = ColorMode::Always;
  return plimsoll::MakeProgress(options);
}

std::string Plain(std::string name) {
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return name;
}

int TerminalColumns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

namespace {

std::string LossText(double loss, double accuracy) {
  const double size = std::abs(loss);
  const bool plain = size == 0.0 || (size >= 1e-3 && size < 1e4);
  std::string text = plain ? fmt::format("loss {:.4f}", loss) : fmt::format("loss {:.3e}", loss);
  if (accuracy >= 0.0) text += fmt::format(" · accuracy {:.3f}", accuracy);
  return text;
}

}  // namespace

std::string ScoreText(const plimsoll::Score& score, const std::vector<std::string>& outputs) {
  std::string text = LossText(score.loss, score.accuracy);
  if (score.label_error_rate >= 0.0) text += fmt::format(" · label error rate {:.3f}", score.label_error_rate);
  for (const plimsoll::MetricValue& metric : score.metrics)
    text += fmt::format(" · {} {:.4g}", plimsoll::MetricName(metric.metric), metric.value);
  for (size_t i = 0; i < outputs.size(); ++i) {
    text +=
        fmt::format("{}{} {}", i == 0 ? " (" : ", ", outputs[i], LossText(score.outputs[i].loss, score.outputs[i].accuracy));
  }
  return outputs.empty() ? text : text + ")";
}

Json ScoreJson(const plimsoll::Score& score, const std::vector<std::string>& outputs) {
  Json json = {{"loss", score.loss}};
  if (score.accuracy >= 0.0) json["accuracy"] = score.accuracy;
  if (score.label_error_rate >= 0.0) json["label_error_rate"] = score.label_error_rate;
  for (const plimsoll::MetricValue& metric : score.metrics) json[plimsoll::MetricName(metric.metric)] = metric.value;
  json["items"] = score.items;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Json own = {{"loss", score.outputs[i].loss}};
    if (score.outputs[i].accuracy >= 0.0) own["accuracy"] = score.outputs[i].accuracy;
    json["outputs"][outputs[i]] = std::move(own);
  }
  return json;
}
