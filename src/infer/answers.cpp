#include "infer/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace plimsoll {
namespace {

using Kind = AnswerOptions::Kind;

float Sigmoid(float y) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(y)))); }

}  // namespace

int64_t AnswerOptions::kept() const {
  if (kind == Kind::Class) return per_step ? 1 : std::min(top, width);
  return kind == Kind::Spelling ? 1 : width;
}

Answers::Answers(AnswerOptions options) : options_(std::move(options)) {
  const auto numbers = static_cast<size_t>((options_.item_per_step() ? options_.steps : options_.rows) * options_.kept());
  numbers_.resize(numbers);
  classes_.resize(numbers);
  first_.resize(static_cast<size_t>(options_.rows));
  lengths_.resize(static_cast<size_t>(options_.rows));
}

void Answers::Start(const Samples& samples, int64_t first, int64_t count) {
  first_sample_ = first;
  int64_t item = 0;
  for (int64_t row = 0; row < count; ++row) {
    const int64_t length = samples.length(first + row);
    first_[static_cast<size_t>(row)] = item;
    lengths_[static_cast<size_t>(row)] = static_cast<int32_t>(length);
    item += options_.item_per_step() ? length : 1;
  }
}

int64_t Answers::ItemOf(int64_t sample, int64_t step) const {
  return first_[static_cast<size_t>(sample - first_sample_)] + step;
}

void Answers::Rows(size_t /*output*/, const RowGroup& group, int64_t first, int64_t count, const float* outputs,
                   int64_t stride) {
  if (options_.decoded) return;
  const bool per_step = options_.item_per_step();
  if (per_step) walk_.Go(group, first);
  for (int64_t row = 0; row < count; ++row) {
    const RowGroup::Place place = per_step ? walk_.place() : RowGroup::Place{first + row, 0};
    Keep(ItemOf(group.samples[place.row], place.step), outputs + row * stride);
    if (per_step) walk_.Next(group);
  }
}

void Answers::Decoded(const RowGroup& group, int64_t row, int64_t step, int64_t /*item*/, int32_t tag) {
  classes_[static_cast<size_t>(ItemOf(group.samples[row], step))] = tag;
}

void Answers::Keep(int64_t item, const float* y) {
  float* kept = numbers_.data() + item * options_.kept();
  switch (options_.kind) {
    case Kind::Class:
      return KeepLargest(item, y, /*probabilities=*/true);
    case Kind::Spelling:
      return KeepLargest(item, y, /*probabilities=*/false);
    case Kind::Labels:
      std::transform(y, y + options_.width, kept, Sigmoid);
      return;
    case Kind::Values:
      std::copy_n(y, options_.width, kept);
      return;
    case Kind::Forecast:
      for (int64_t i = 0; i < options_.width; ++i) {
        const TargetUnit& unit = options_.units[static_cast<size_t>(i) % options_.units.size()];
        kept[i] = static_cast<float>(static_cast<double>(y[i]) * unit.deviation + unit.mean);
      }
  }
}

// Of equals, the class with the smaller number comes first.
void Answers::KeepLargest(int64_t item, const float* y, bool probabilities) {
  const int64_t kept = options_.kept();
  float* numbers = numbers_.data() + item * kept;
  int32_t* classes = classes_.data() + item * kept;
  int64_t have = 0;
  for (int64_t i = 0; i < options_.width; ++i) {
    int64_t at = have;
    while (at > 0 && y[i] > numbers[at - 1]) --at;
    if (at == kept) continue;
    have = std::min(have + 1, kept);
    std::copy_backward(numbers + at, numbers + have - 1, numbers + have);
    std::copy_backward(classes + at, classes + have - 1, classes + have);
    numbers[at] = y[i];
    classes[at] = static_cast<int32_t>(i);
  }
  if (!probabilities) return;
  const auto largest = static_cast<double>(numbers[0]);
  double sum = 0.0;
  for (int64_t i = 0; i < options_.width; ++i) sum += std::exp(static_cast<double>(y[i]) - largest);
  for (int64_t i = 0; i < have; ++i) numbers[i] = static_cast<float>(std::exp(static_cast<double>(numbers[i]) - largest) / sum);
}

void Answers::AddText(std::string& out, std::string_view text) const {
  if (json()) out += '"';
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < ' ';
    if (!json()) {
      out += control ? ' ' : c;
    } else if (control) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  if (json()) out += '"';
}

void Answers::AddName(std::string& out, int32_t number) const {
  if (options_.names.size() > 0) return AddText(out, options_.names[number]);
  fmt::format_to(std::back_inserter(out), "{}", number);
}

void Answers::AddNumber(std::string& out, float value) const {
  if (json() && !std::isfinite(value)) {
    out += "null";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

void Answers::Append(std::string& out, int64_t row, std::string_view name) const {
  const int64_t item = first_[static_cast<size_t>(row)], steps = lengths_[static_cast<size_t>(row)];
  if (json()) out += '{';
  switch (options_.kind) {
    case Kind::Class:
      if (options_.per_step) {
        AppendTags(out, item, steps);
      } else {
        AppendClass(out, item);
      }
      break;
    case Kind::Spelling:
      AppendSpelling(out, item, steps);
      break;
    case Kind::Labels:
      if (options_.per_step) {
        AppendSets(out, item, steps);
      } else {
        AppendLabels(out, item);
      }
      break;
    case Kind::Values:
      AppendValues(out, item, options_.per_step ? steps : 1);
      break;
    case Kind::Forecast:
      AppendForecast(out, item, name);
      break;
  }
  out += json() ? "}\n" : "\n";
}

void Answers::AppendBad(std::string& out, std::string_view problem) const {
  if (json()) {
    out += "{\"error\":";
    AddText(out, problem);
    out += '}';
  }
  out += '\n';
}

void Answers::AppendClass(std::string& out, int64_t item) const {
  const int64_t kept = options_.kept();
  const float* numbers = numbers_.data() + item * kept;
  const int32_t* classes = classes_.data() + item * kept;
  if (json()) {
    out += "\"label\":";
    AddName(out, classes[0]);
    out += ",\"probability\":";
    AddNumber(out, numbers[0]);
    if (options_.top > 1) out += ",\"top\":[";
    for (int64_t i = 0; i < kept && options_.top > 1; ++i) {
      out += i == 0 ? "{\"label\":" : ",{\"label\":";
      AddName(out, classes[i]);
      out += ",\"probability\":";
      AddNumber(out, numbers[i]);
      out += '}';
    }
    if (options_.top > 1) out += ']';
    return;
  }
  for (int64_t i = 0; i < kept; ++i) {
    if (i > 0) out += '\t';
    AddName(out, classes[i]);
    out += '\t';
    AddNumber(out, numbers[i]);
  }
}

void Answers::AppendTags(std::string& out, int64_t item, int64_t steps) const {
  if (json()) out += "\"tags\":[";
  for (int64_t step = 0; step < steps; ++step) {
    if (step > 0) out += json() ? ',' : ' ';
    AddName(out, classes_[static_cast<size_t>(item + step)]);
  }
  if (!json()) return;
  out += ']';
  if (options_.decoded) return;  // a CRF decides on the sequence, and not on a tag
  out += ",\"probabilities\":[";
  for (int64_t step = 0; step < steps; ++step) {
    if (step > 0) out += ',';
    AddNumber(out, numbers_[static_cast<size_t>(item + step)]);
  }
  out += ']';
}

// What the likeliest output of each step spells: without repetitions, and without the blank, 0.
void Answers::AppendSpelling(std::string& out, int64_t item, int64_t steps) const {
  if (json()) out += "\"labels\":[";
  int32_t before = 0;
  bool first = true;
  for (int64_t step = 0; step < steps; ++step) {
    const int32_t now = classes_[static_cast<size_t>(item + step)];
    if (now != before && now != 0) {
      if (!first) out += json() ? ',' : ' ';
      first = false;
      fmt::format_to(std::back_inserter(out), "{}", now);
    }
    before = now;
  }
  if (json()) out += ']';
}

void Answers::AppendLabels(std::string& out, int64_t item) const {
  const float* p = numbers_.data() + item * options_.width;
  const auto each = [&](const auto& add) {
    bool first = true;
    for (int64_t i = 0; i < options_.width; ++i) {
      if (!(p[i] > 0.5f)) continue;
      if (!first) out += json() ? ',' : '\t';
      first = false;
      add(static_cast<int32_t>(i));
    }
  };
  if (!json()) {
    each([&](int32_t i) {
      AddName(out, i);
      out += '\t';
      AddNumber(out, p[i]);
    });
    return;
  }
  out += "\"labels\":[";
  each([&](int32_t i) { AddName(out, i); });
  out += "],\"probabilities\":[";
  each([&](int32_t i) { AddNumber(out, p[i]); });
  out += ']';
}

// The labels of each step: lists of lists; in a table with commas between them, and blanks between the steps. A comma alone is
// a step without a label.
void Answers::AppendSets(std::string& out, int64_t item, int64_t steps) const {
  const auto each = [&](const auto& add) {
    for (int64_t step = 0; step < steps; ++step) {
      const float* p = numbers_.data() + (item + step) * options_.width;
      bool first = true;
      if (step > 0) out += json() ? ',' : ' ';
      if (json()) out += '[';
      for (int64_t i = 0; i < options_.width; ++i) {
        if (!(p[i] > 0.5f)) continue;
        if (!first) out += ',';
        first = false;
        add(static_cast<int32_t>(i), p[i]);
      }
      if (json()) out += ']';
      if (first && !json()) out += ',';
    }
  };
  if (!json()) return each([&](int32_t i, float) { AddName(out, i); });
  out += "\"labels\":[";
  each([&](int32_t i, float) { AddName(out, i); });
  out += "],\"probabilities\":[";
  each([&](int32_t, float p) { AddNumber(out, p); });
  out += ']';
}

void Answers::AppendValues(std::string& out, int64_t item, int64_t steps) const {
  const float* values = numbers_.data() + item * options_.width;
  if (json() && steps == 1 && options_.width == 1 && !options_.per_step) {
    out += "\"value\":";
    return AddNumber(out, values[0]);
  }
  if (json()) out += "\"values\":[";
  const bool nested = options_.per_step && options_.width > 1;
  for (int64_t step = 0; step < steps; ++step) {
    if (step > 0) out += json() ? ',' : '\t';
    if (nested && json()) out += '[';
    for (int64_t i = 0; i < options_.width; ++i) {
      if (i > 0) out += json() ? ',' : nested ? ' ' : '\t';
      AddNumber(out, values[step * options_.width + i]);
    }
    if (nested && json()) out += ']';
  }
  if (json()) out += ']';
}

void Answers::AppendForecast(std::string& out, int64_t item, std::string_view name) const {
  const float* values = numbers_.data() + item * options_.width;
  const auto columns = static_cast<int64_t>(options_.units.size());
  if (json() && !name.empty()) out += "\"series\":";
  if (!name.empty()) {
    AddText(out, name);
    out += json() ? ',' : '\t';
  }
  if (json()) out += "\"forecast\":[";
  for (int64_t i = 0; i < options_.width; ++i) {
    if (i > 0) out += json() ? (columns > 1 && i % columns == 0 ? "],[" : ",") : "\t";
    if (i == 0 && json() && columns > 1) out += '[';
    AddNumber(out, values[i]);
  }
  if (json()) out += columns > 1 ? "]]" : "]";
}

}  // namespace plimsoll
