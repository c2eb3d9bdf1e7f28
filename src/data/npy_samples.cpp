// npy_samples: decides what the shapes mean, looks at every value once, then reads on demand.
//   in:    the arrays x, y and lengths
//   out:   a Samples object over the open files
//   never: reads padding; hands out a value that it did not check
#include "data/npy_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "data/lengths.h"
#include "data/npy.h"
#include "data/zip.h"

namespace plimsoll {
namespace {

constexpr int64_t kScanElements = 16 * 1024;  // 64 KiB of float or int32

// How the rows of an array belong to the samples.
enum class Rows {
  Padded,     // `steps` rows for each sample, those behind its length unused
  Packed,     // as many rows as the sample has steps
  PerSample,  // one
};

struct Layout {
  Rows rows = Rows::Padded;
  int64_t steps = 1;  // rows a sample, where Padded
  int64_t width = 1;  // elements a row
};

// An array with its layout; `noun` and `part` name its elements in messages.
struct Column {
  NpyArray array;
  Layout layout;
  const char* noun = "";     // "id", "feature", "class number", "label", "target"
  const char* part = "";     // one element of a wide row: "feature", "value"
  bool within_one = false;   // values lie between 0 and 1
  bool one_hot = false;      // a row is zeros with a one at the class number
  const char* row = "step";  // what a row of a sample is called
  int least = 0;             // id or class number
};

struct Arrays {
  NpyArray x;
  std::vector<NpyArray> ys;  // one an output
  std::optional<NpyArray> lengths;
  std::optional<NpyArray> weights;
  std::optional<NpyArray> initial_state;
  std::optional<NpyArray> target_lengths;
};

int64_t FirstElement(const Layout& layout, const Lengths& lengths, int64_t sample, int64_t step) {
  switch (layout.rows) {
    case Rows::Padded:
      return (sample * layout.steps + lengths.start(sample) + step) * layout.width;
    case Rows::Packed:
      return (lengths.first_row(sample) + step) * layout.width;
    case Rows::PerSample:
      break;
  }
  return sample * layout.width;
}

std::string Location(const Column& column, const Lengths& lengths, int64_t element) {
  const Layout& layout = column.layout;
  const int64_t row = element / layout.width;
  std::string text = column.array.name;
  if (layout.rows == Rows::PerSample) {
    text += fmt::format(", sample {}", row);
  } else {
    const bool padded = layout.rows == Rows::Padded;
    const int64_t sample = padded ? row / layout.steps : lengths.sample_of_row(row);
    text +=
        fmt::format(", sample {}, {} {}", sample, column.row, padded ? row % layout.steps : row - lengths.first_row(sample));
  }
  if (layout.width > 1) text += fmt::format(", {} {}", column.part, element % layout.width);
  return text;
}

Status BadElement(const Column& column, const Lengths& lengths, int64_t element, const std::string& wanted, std::string hint) {
  return Status::Data(fmt::format("{}: {} is {}; wanted {}", Location(column, lengths, element), column.noun,
                                  ElementText(column.array, element), wanted),
                      std::move(hint));
}

// Reads elements as ids or class numbers, all below `bound`; `largest` grows.
Status ReadIndices(const Column& column, const Lengths& lengths, int64_t first, int64_t count, int64_t bound, int32_t* out,
                   int32_t* largest = nullptr) {
  const auto converted = ReadAsIndex(column.array, first, count, out);
  if (!converted.ok()) return converted.status();
  for (int64_t i = 0; i < converted.value(); ++i) {
    if (out[i] >= bound) {
      return BadElement(column, lengths, first + i, fmt::format("less than {}, as when the file was opened", bound),
                        "do not change data files while they are in use");
    }
    if (largest != nullptr) *largest = std::max(*largest, out[i]);
  }
  if (converted.value() == count) return Status::Ok();
  return BadElement(column, lengths, first + converted.value(),
                    fmt::format("a whole number from {} to 2147483647", column.least),
                    fmt::format("{}s count from {}", column.noun, column.least));
}

Status ReadValues(const Column& column, const Lengths& lengths, int64_t first, int64_t count, float* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadAsFloat(column.array, first, count, out));
  const float* const bad = std::find_if_not(out, out + count, [](float value) { return std::isfinite(value); });
  if (bad != out + count) {
    return BadElement(column, lengths, first + (bad - out), "a finite number within float32's range",
                      "fill gaps or leave the sample out; np.isfinite(array) finds them");
  }
  if (!column.within_one) return Status::Ok();
  const float* const outside = std::find_if_not(out, out + count, [](float value) { return value >= 0.0f && value <= 1.0f; });
  if (outside == out + count) return Status::Ok();
  return BadElement(column, lengths, first + (outside - out), "a number from 0 to 1, for loss binary_crossentropy",
                    "scale the targets, or choose another loss");
}

// Reads rows of zeros with a one in them as class numbers. work: kScanElements.
Status ReadOneHot(const Column& column, const Lengths& lengths, int64_t first_row, int64_t rows, float* work, int32_t* out) {
  const int64_t width = column.layout.width, at_once = std::max<int64_t>(1, kScanElements / width);
  for (int64_t done = 0; done < rows; done += at_once) {
    const int64_t now = std::min(at_once, rows - done), element = (first_row + done) * width;
    PLIMSOLL_RETURN_IF_ERROR(ReadAsFloat(column.array, element, now * width, work));
    for (int64_t row = 0; row < now; ++row) {
      const float* values = work + row * width;
      const int64_t one = std::max_element(values, values + width) - values;
      for (int64_t i = 0; i < width; ++i) {
        if (values[i] == (i == one ? 1.0f : 0.0f)) continue;
        return BadElement(column, lengths, element + row * width + i, "zeros and a single one, as one-hot rows have",
                          "targets that are shares of several classes cannot be trained on; save class numbers");
      }
      out[done + row] = static_cast<int32_t>(one);
    }
  }
  return Status::Ok();
}

// Looks at every element inside a sample's length once. `largest` is given for ids and class numbers; one-hot rows leave it
// alone, because their width says how many classes there are.
Status Scan(const Column& column, const Lengths& lengths, int32_t* largest) {
  const Layout& layout = column.layout;
  const int64_t at_once = column.one_hot ? kScanElements / layout.width * layout.width : kScanElements;  // whole rows
  std::vector<float> values(largest == nullptr || column.one_hot ? kScanElements : 0);
  std::vector<int32_t> indices(largest == nullptr ? 0 : kScanElements);
  const auto scan = [&](int64_t first, int64_t count) {
    if (column.one_hot) {
      return ReadOneHot(column, lengths, first / layout.width, count / layout.width, values.data(), indices.data());
    }
    return largest == nullptr ? ReadValues(column, lengths, first, count, values.data())
                              : ReadIndices(column, lengths, first, count, INT64_MAX, indices.data(), largest);
  };
  const auto scan_run = [&](int64_t first, int64_t count) {
    for (int64_t done = 0; done < count; done += at_once) {
      PLIMSOLL_RETURN_IF_ERROR(scan(first + done, std::min(at_once, count - done)));
    }
    return Status::Ok();
  };
  const bool holes =
      layout.rows == Rows::Padded && !(lengths.all_same() && lengths.longest() == layout.steps);  // or they begin late
  if (!holes) return scan_run(0, column.array.elements);
  for (int64_t sample = 0; sample < lengths.count(); ++sample) {
    PLIMSOLL_RETURN_IF_ERROR(scan_run(FirstElement(layout, lengths, sample, 0), lengths.length(sample) * layout.width));
  }
  return Status::Ok();
}

struct Inputs {
  Lengths lengths;
  Layout layout;
  bool ids = false;
  int64_t steps = 0;  // T of the header's table
};

Status NoSteps(const NpyArray& x) {
  return Status::Data(fmt::format("{}: shape {} has no samples, no steps or no features", x.name, ShapeText(x.shape)));
}

// Rows of a fixed number of steps, which `lengths` may cut short.
Result<Inputs> PaddedInputs(const Arrays& arrays, std::optional<Lengths> lengths) {
  const NpyArray& x = arrays.x;
  const int64_t count = x.shape[0], steps = x.shape[1];
  if (x.elements == 0) return NoSteps(x);
  if (!lengths) lengths = Lengths::Same(count, steps);
  if (lengths->longest() > steps) {
    int64_t sample = 0;
    while (lengths->length(sample) <= steps) ++sample;
    return Status::Data(fmt::format("{}, sample {}: length is {}; {} has {} steps", arrays.lengths->name, sample,
                                    lengths->length(sample), x.name, steps));
  }
  const int64_t width = x.shape.size() == 3 ? x.shape[2] : 1;
  return Inputs{.lengths = std::move(*lengths),
                .layout = {.rows = Rows::Padded, .steps = steps, .width = width},
                .ids = x.shape.size() == 2 && !IsFloat(x.type),
                .steps = steps};
}

Result<Inputs> PackedInputs(const Arrays& arrays, Lengths lengths) {
  const NpyArray& x = arrays.x;
  if (x.elements == 0) return NoSteps(x);
  const int64_t steps = lengths.longest();
  return Inputs{.lengths = std::move(lengths),
                .layout = {.rows = Rows::Packed, .steps = steps, .width = x.shape.size() == 2 ? x.shape[1] : 1},
                .ids = x.shape.size() == 1 && !IsFloat(x.type),
                .steps = steps};
}

Result<Inputs> UnderstandInputs(const Arrays& arrays) {
  const NpyArray& x = arrays.x;
  const size_t rank = x.shape.size();
  if (!arrays.lengths) {
    if (rank == 2 || rank == 3) return PaddedInputs(arrays, std::nullopt);
    return Status::Data(
        fmt::format("{}: shape is {}; wanted (samples, steps) or (samples, steps, features)", x.name, ShapeText(x.shape)),
        rank == 1 ? "packed rows need an array `lengths`, one number a sample" : "");
  }
  auto read = Lengths::Read(*arrays.lengths);
  if (!read.ok()) return read.status();
  Lengths& lengths = read.value();
  const bool can_pad = (rank == 2 || rank == 3) && x.shape[0] == lengths.count();
  const bool can_pack = (rank == 1 || rank == 2) && x.shape[0] == lengths.total();
  if (can_pack && !(can_pad && !IsFloat(x.type))) return PackedInputs(arrays, std::move(lengths));
  if (can_pad) return PaddedInputs(arrays, std::move(lengths));
  return Status::Data(fmt::format(
      "{}: shape is {}; {} has {} numbers that sum to {}; wanted ({}, steps), ({}, steps, features), ({},) or ({}, features)",
      x.name, ShapeText(x.shape), arrays.lengths->name, lengths.count(), lengths.total(), lengths.count(), lengths.count(),
      lengths.total(), lengths.total()));
}

Result<Layout> UnderstandOneHot(const NpyArray& y, const Inputs& inputs) {
  const int64_t count = inputs.lengths.count(), rows = inputs.lengths.total(), width = y.shape.empty() ? 0 : y.shape.back();
  const bool fits = width >= 2 && width <= kScanElements;
  if (fits && y.shape.size() == 2 && y.shape[0] == count) return Layout{.rows = Rows::PerSample, .width = width};
  if (fits && y.shape.size() == 2 && y.shape[0] == rows) return Layout{.rows = Rows::Packed, .width = width};
  if (fits && y.shape.size() == 3 && y.shape[0] == count && y.shape[1] == inputs.steps)
    return Layout{.rows = Rows::Padded, .steps = inputs.steps, .width = width};
  return Status::Data(
      fmt::format("{}: shape is {}; wanted ({}, classes) for one target a sample, ({}, {}, classes) or ({}, classes) "
                  "for one a step, with 2 to {} classes",
                  y.name, ShapeText(y.shape), count, count, inputs.steps, rows, kScanElements),
      "class numbers go with loss sparse_categorical_crossentropy");
}

Result<Layout> UnderstandTargets(const NpyArray& y, const Inputs& inputs, Task task) {
  const int64_t count = inputs.lengths.count(), rows = inputs.lengths.total(), steps = inputs.steps;
  const std::vector<int64_t>& shape = y.shape;
  const auto width_fits = [&](int64_t width) { return task == Task::Classify ? width == 1 : width >= 1; };
  const Layout per_sample{.rows = Rows::PerSample}, packed{.rows = Rows::Packed}, padded{.rows = Rows::Padded, .steps = steps};
  const auto wide = [](Layout layout, int64_t width) {
    layout.width = width;
    return layout;
  };
  if (shape.size() == 1) {
    if (shape[0] == count) return per_sample;
    if (shape[0] == rows) return packed;
  } else if (shape.size() == 2) {
    if (shape[0] == count && shape[1] == steps && steps > 1) return padded;
    if (shape[0] == count && width_fits(shape[1])) return wide(per_sample, shape[1]);
    if (shape[0] == rows && width_fits(shape[1])) return wide(packed, shape[1]);
  } else if (shape.size() == 3 && shape[0] == count && width_fits(shape[2])) {
    if (shape[1] == steps) return wide(padded, shape[2]);
    if (shape[1] == 1) return wide(per_sample, shape[2]);
  }
  std::string hint;
  if (task == Task::Classify && shape.size() > 1 && shape.back() > 1) hint = "for one-hot targets save np.argmax(y, axis=-1)";
  return Status::Data(fmt::format("{}: shape is {}; wanted ({},) for one target a sample, ({}, {}) or ({},) for one a step{}",
                                  y.name, ShapeText(shape), count, count, steps, rows,
                                  task == Task::Classify ? "" : ", or the same with a last dimension of values"),
                      std::move(hint));
}

// Targets that are sequences of labels without steps, of lengths of their own.
struct Labels {
  Lengths lengths;
  Layout layout;
};

Result<Labels> UnderstandLabels(const Arrays& arrays, int64_t count) {
  const NpyArray& y = arrays.ys[0];
  const bool padded = y.shape.size() == 2 && y.shape[0] == count && y.elements > 0;
  if (!arrays.target_lengths) {
    if (padded) return Labels{Lengths::Same(count, y.shape[1]), {.rows = Rows::Padded, .steps = y.shape[1]}};
    return Status::Data(
        fmt::format("{}: shape is {}; wanted ({}, labels), the labels of each sample", y.name, ShapeText(y.shape), count),
        "targets of different lengths need an array `target_lengths`, one number a sample");
  }
  auto read = Lengths::Read(*arrays.target_lengths);
  if (!read.ok()) return read.status();
  Lengths& lengths = read.value();
  if (lengths.count() != count)
    return Status::Data(
        fmt::format("{}: has {} numbers; wanted {}, one a sample", arrays.target_lengths->name, lengths.count(), count));
  if (y.shape.size() == 1 && y.shape[0] == lengths.total()) return Labels{std::move(lengths), {.rows = Rows::Packed}};
  if (padded && y.shape[1] >= lengths.longest()) return Labels{std::move(lengths), {.rows = Rows::Padded, .steps = y.shape[1]}};
  return Status::Data(fmt::format("{}: shape is {}; {} goes up to {} and sums to {}; wanted ({}, {} or more) or ({},)", y.name,
                                  ShapeText(y.shape), arrays.target_lengths->name, lengths.longest(), lengths.total(), count,
                                  lengths.longest(), lengths.total()));
}

// Labels count from 1, and a sample has a step for each, and one more between two that are equal.
Status ScanLabels(const Column& y, const Lengths& labels, const Lengths& steps) {
  std::vector<int32_t> target(static_cast<size_t>(labels.longest()));
  for (int64_t sample = 0; sample < labels.count(); ++sample) {
    const int64_t first = FirstElement(y.layout, labels, sample, 0), count = labels.length(sample);
    PLIMSOLL_RETURN_IF_ERROR(ReadIndices(y, labels, first, count, INT64_MAX, target.data()));
    int64_t equal = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int32_t label = target[static_cast<size_t>(i)];
      if (label == 0) {
        return BadElement(y, labels, first + i, "a whole number from 1 on",
                          "0 is the blank of loss ctc and stands in no target: number the labels from 1");
      }
      equal += i > 0 && label == target[static_cast<size_t>(i - 1)] ? 1 : 0;
    }
    if (count + equal <= steps.length(sample)) continue;
    return Status::Data(fmt::format("{}, sample {}: {} labels, {} of them equal to the one before, need {} steps; it has {}",
                                    y.array.name, sample, count, equal, count + equal, steps.length(sample)),
                        "loss ctc has a step for each label and a blank between equal ones: leave the sample out, or give it "
                        "more steps");
  }
  return Status::Ok();
}

Status ReadWeights(const Column& weights, const Lengths& lengths, int64_t first, int64_t count, float* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadAsFloat(weights.array, first, count, out));
  const float* const bad =
      std::find_if_not(out, out + count, [](float weight) { return std::isfinite(weight) && weight >= 0.0f; });
  if (bad == out + count) return Status::Ok();
  return BadElement(weights, lengths, first + (bad - out), "a finite number from 0 on", "a weight of 0 leaves a sample out");
}

Status ScanWeights(const Column& weights, const Lengths& lengths) {
  std::vector<float> work(kScanElements);
  for (int64_t done = 0; done < lengths.count(); done += kScanElements) {
    const int64_t now = std::min(kScanElements, lengths.count() - done);
    PLIMSOLL_RETURN_IF_ERROR(ReadWeights(weights, lengths, done, now, work.data()));
  }
  return Status::Ok();
}

// Where each padded row begins and ends, by its padding. Padding between steps has no meaning here.
Result<Lengths> FindPadding(const NpyArray& x, const Layout& layout, float padding) {
  const int64_t at_once = std::max<int64_t>(1, kScanElements / layout.width);  // steps of a sample
  std::vector<float> work(static_cast<size_t>(at_once * layout.width));
  std::vector<int32_t> starts, lengths;
  for (int64_t sample = 0; sample < x.shape[0]; ++sample) {
    int64_t first = -1, end = 0;
    for (int64_t step = 0; step < layout.steps; ++step) {
      if (step % at_once == 0) {
        const int64_t element = (sample * layout.steps + step) * layout.width, now = std::min(at_once, layout.steps - step);
        PLIMSOLL_RETURN_IF_ERROR(ReadAsFloat(x, element, now * layout.width, work.data()));
      }
      const float* row = work.data() + step % at_once * layout.width;
      if (std::all_of(row, row + layout.width, [&](float value) { return value == padding; })) continue;
      if (first < 0) first = end = step;
      if (step > end)
        return Status::Data(
            fmt::format("{}, sample {}: step {} is padding, but the steps around it are not", x.name, sample, end),
            "padding stands before or behind a row; take it out of the middle, or leave the mask out");
      end = step + 1;
    }
    if (first < 0)
      return Status::Data(fmt::format("{}, sample {}: all of it is padding", x.name, sample),
                          "leave samples without steps out");
    starts.push_back(static_cast<int32_t>(first));
    lengths.push_back(static_cast<int32_t>(end - first));
  }
  return Lengths::Inside(std::move(starts), std::move(lengths));
}

// One for each output.
std::vector<TargetRequest> TargetsOf(const SamplesRequest& request) {
  if (request.inputs_only) return {};
  if (!request.outputs.empty()) return request.outputs;
  return {{.task = request.task, .one_hot = request.one_hot, .within_one = request.targets_within_one}};
}

class NpySamples final : public Samples {
 public:
  static Result<std::unique_ptr<Samples>> Open(Arrays arrays, const SamplesRequest& request) {
    const std::vector<TargetRequest> outputs = TargetsOf(request);
    auto inputs = UnderstandInputs(arrays);
    if (!inputs.ok()) return inputs.status();
    if (request.padding) {
      if (arrays.lengths)
        return Status::Usage(fmt::format("{}: says where rows end, and so would a mask", arrays.lengths->name),
                             "leave mask_zero or the Masking layer out");
      auto found = FindPadding(arrays.x, inputs->layout, *request.padding);
      if (!found.ok()) return found.status();
      inputs->lengths = std::move(*found);
    }
    const bool ids = inputs->ids;
    Column x{.array = std::move(arrays.x), .layout = inputs->layout, .noun = ids ? "id" : "feature", .part = "feature"};
    std::vector<Column> ys;
    std::vector<TargetShape> shapes;
    std::optional<Lengths> target_lengths;
    for (size_t output = 0; output < outputs.size(); ++output) {
      const TargetRequest& asked = outputs[output];
      NpyArray& y = arrays.ys[output];
      const Task task = asked.task.value_or(IsFloat(y.type) ? Task::Regress : Task::Classify);
      Result<Layout> layout = Layout{};
      if (request.unaligned) {
        auto labels = UnderstandLabels(arrays, inputs->lengths.count());
        if (!labels.ok()) return labels.status();
        target_lengths = std::move(labels->lengths);
        layout = labels->layout;
      } else {
        layout = asked.one_hot ? UnderstandOneHot(y, inputs.value()) : UnderstandTargets(y, inputs.value(), task);
      }
      if (!layout.ok()) return layout.status();
      const bool classes = task == Task::Classify;
      ys.push_back({.array = std::move(y),
                    .layout = layout.value(),
                    .noun = request.unaligned ? "label"
                            : classes         ? "class number"
                                              : "target",
                    .part = "value",
                    .within_one = asked.within_one,
                    .one_hot = asked.one_hot,
                    .row = request.unaligned ? "label" : "step",
                    .least = request.unaligned ? 1 : 0});
      shapes.push_back({.per_step = !request.unaligned && layout->rows != Rows::PerSample,
                        .are_classes = classes,
                        .width = classes ? 1 : layout->width,
                        .classes = asked.one_hot ? layout->width : 0});
    }
    std::optional<Column> weights;
    if (arrays.weights) {
      weights = Column{.array = std::move(*arrays.weights), .layout = {.rows = Rows::PerSample}, .noun = "weight"};
      if (weights->array.shape != std::vector<int64_t>{inputs->lengths.count()})
        return Status::Data(fmt::format("{}: shape is {}; wanted ({},), a weight a sample", weights->array.name,
                                        ShapeText(weights->array.shape), inputs->lengths.count()));
      PLIMSOLL_RETURN_IF_ERROR(ScanWeights(*weights, inputs->lengths));
    }
    std::optional<Column> state;
    if (arrays.initial_state) {
      const std::vector<int64_t>& extents = arrays.initial_state->shape;
      if (extents.size() != 2 || extents[0] != inputs->lengths.count() || extents[1] < 1 || extents[1] > kScanElements)
        return Status::Data(fmt::format("{}: shape is {}; wanted ({}, values), with 1 to {} values of State a sample",
                                        arrays.initial_state->name, ShapeText(extents), inputs->lengths.count(),
                                        kScanElements));
      const int64_t width = extents[1];
      state = Column{.array = std::move(*arrays.initial_state),
                     .layout = {.rows = Rows::PerSample, .width = width},
                     .noun = "initial_state",
                     .part = "value"};
      PLIMSOLL_RETURN_IF_ERROR(Scan(*state, inputs->lengths, nullptr));
    }
    int32_t largest_id = 0;
    PLIMSOLL_RETURN_IF_ERROR(Scan(x, inputs->lengths, ids ? &largest_id : nullptr));
    for (size_t output = 0; output < ys.size(); ++output) {
      TargetShape& target = shapes[output];
      int32_t largest_class = 0;
      PLIMSOLL_RETURN_IF_ERROR(
          Scan(ys[output], target_lengths ? *target_lengths : inputs->lengths, target.are_classes ? &largest_class : nullptr));
      if (target.are_classes && target.classes == 0) target.classes = int64_t{largest_class} + 1;
    }
    if (target_lengths) PLIMSOLL_RETURN_IF_ERROR(ScanLabels(ys[0], *target_lengths, inputs->lengths));
    if (request.inputs_only) shapes.emplace_back();
    SampleShape shape{.ids = ids,
                      .width = x.layout.width,
                      .target_per_step = shapes[0].per_step,
                      .target_classes = shapes[0].are_classes,
                      .target_width = shapes[0].width,
                      .vocabulary = ids ? int64_t{largest_id} + 1 : 0,
                      .classes = shapes[0].classes,
                      .weighted = weights.has_value(),
                      .state_width = state ? state->layout.width : 0,
                      .longest_target = target_lengths ? target_lengths->longest() : 0,
                      .several = request.inputs_only ? 0 : request.outputs.size()};
    std::copy_n(shapes.begin(), shape.several, shape.targets.begin());
    return std::unique_ptr<Samples>(new NpySamples(shape, std::move(inputs->lengths), std::move(x), std::move(ys),
                                                   std::move(weights), std::move(state), std::move(target_lengths)));
  }

  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return lengths_.count(); }
  int64_t length(int64_t sample) const override { return lengths_.length(sample); }
  int64_t target_length(int64_t sample) const override { return target_lengths_ ? target_lengths_->length(sample) : 1; }

  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckRange(sample, first, steps, length(sample));
    return Read(x_, lengths_, shape_.ids, shape_.vocabulary, sample, first, steps, out);
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    return ReadTargetsOf(0, sample, first, steps, out);
  }
  Status ReadTargetsOf(size_t output, int64_t sample, int64_t first, int64_t steps, void* out) override {
    const Column& y = ys_[output];
    const TargetShape target = shape_.Target(output);
    CheckRange(sample, first, steps, target.per_step ? length(sample) : target_length(sample));
    if (y.one_hot) {
      const int64_t row = FirstElement(y.layout, lengths_, sample, first) / y.layout.width;
      return ReadOneHot(y, lengths_, row, steps, work_.data(), static_cast<int32_t*>(out));
    }
    const Lengths& lengths = target_lengths_ ? *target_lengths_ : lengths_;
    return Read(y, lengths, target.are_classes, target.classes, sample, first, steps, out);
  }
  Status ReadWeight(int64_t sample, float* out) override { return ReadWeights(*weights_, lengths_, sample, 1, out); }
  Status ReadState(int64_t sample, float* out) override {
    return Read(*state_, lengths_, /*indices=*/false, 0, sample, 0, 1, out);
  }
  int64_t Expect(int64_t sample, int64_t most) override {
    int64_t asked = ExpectRows(x_, lengths_, sample, most);
    for (const Column& y : ys_) asked += ExpectRows(y, target_lengths_ ? *target_lengths_ : lengths_, sample, most - asked);
    if (weights_) asked += ExpectRows(*weights_, lengths_, sample, most - asked);
    if (state_) asked += ExpectRows(*state_, lengths_, sample, most - asked);
    return asked;
  }

 private:
  NpySamples(const SampleShape& shape, Lengths lengths, Column x, std::vector<Column> ys, std::optional<Column> weights,
             std::optional<Column> state, std::optional<Lengths> target_lengths)
      : shape_(shape),
        lengths_(std::move(lengths)),
        x_(std::move(x)),
        ys_(std::move(ys)),
        weights_(std::move(weights)),
        state_(std::move(state)),
        target_lengths_(std::move(target_lengths)),
        work_(std::any_of(ys_.begin(), ys_.end(), [](const Column& y) { return y.one_hot; }) ? kScanElements : 0) {}

  void CheckRange(int64_t sample, int64_t first, int64_t steps, int64_t limit) const {
    PLIMSOLL_CHECK(sample >= 0 && sample < count(), "a sample number lies in [0, count)");
    PLIMSOLL_CHECK(first >= 0 && steps >= 0 && first <= limit && steps <= limit - first, "steps lie inside the sample");
  }
  static Status Read(const Column& column, const Lengths& lengths, bool indices, int64_t bound, int64_t sample, int64_t first,
                     int64_t steps, void* out) {
    const int64_t element = FirstElement(column.layout, lengths, sample, first);
    const int64_t count = steps * column.layout.width;
    if (indices) return ReadIndices(column, lengths, element, count, bound, static_cast<int32_t*>(out));
    return ReadValues(column, lengths, element, count, static_cast<float*>(out));
  }
  static int64_t ExpectRows(const Column& column, const Lengths& lengths, int64_t sample, int64_t most) {
    const int64_t rows = column.layout.rows == Rows::PerSample ? 1 : lengths.length(sample);
    const int64_t element_bytes = NpyTypeBytes(column.array.type);
    const int64_t asked = std::min(rows * column.layout.width * element_bytes, most);
    if (asked > 0)
      column.array.file->Expect(column.array.offset + FirstElement(column.layout, lengths, sample, 0) * element_bytes, asked);
    return asked;
  }

  SampleShape shape_;
  Lengths lengths_;
  Column x_;
  std::vector<Column> ys_;  // one an output
  std::optional<Column> weights_;
  std::optional<Column> state_;
  std::optional<Lengths> target_lengths_;  // where a target is a sequence of labels
  std::vector<float> work_;                // one-hot rows on their way
};

// The array KEY of an archive is its member KEY.npy.
auto FindMember(const std::vector<ZipMember>& members, const std::string& key) {
  return std::find_if(members.begin(), members.end(), [&](const ZipMember& member) { return member.name == key + ".npy"; });
}

Result<NpyArray> ReadMember(const std::shared_ptr<const File>& file, const ZipMember& member, const std::string& key) {
  NpyPlace place{
      .file = file, .name = fmt::format("{}: array '{}'", file->path(), key), .begin = member.offset, .bytes = member.bytes};
  if (member.deflated) {
    auto inflated = InflateMember(*file, member);
    if (!inflated.ok()) return inflated.status();
    place.file = std::make_shared<const File>(std::move(*inflated));
    place.begin = 0;
  }
  return ReadNpyHeader(place);
}

Status MissingKey(const File& file, const std::vector<ZipMember>& members, std::string_view wanted) {
  constexpr size_t kShown = 20;
  std::string keys;
  for (size_t i = 0; i < std::min(members.size(), kShown); ++i) {
    std::string_view name = std::string_view(members[i].name).substr(0, 64);
    if (name.ends_with(".npy")) name.remove_suffix(4);
    keys += keys.empty() ? "" : ", ";
    for (const char c : name) keys += c >= ' ' && c <= '~' ? c : '?';
  }
  if (members.size() > kShown) keys += fmt::format(" and {} more", members.size() - kShown);
  return Status::Data(fmt::format("{}: has no array '{}'; it holds {}", file.path(), wanted, keys.empty() ? "nothing" : keys),
                      fmt::format("save with np.savez(file, x=..., {}=...), and lengths=... where rows end early",
                                  wanted == "x" ? "y" : wanted));
}

Result<NpyArray> ReadNpyFile(File file) {
  NpyPlace place{.file = nullptr, .name = file.path(), .begin = 0, .bytes = file.size()};
  place.file = std::make_shared<const File>(std::move(file));
  return ReadNpyHeader(place);
}

Result<NpyArray> OpenNpyFile(const std::string& path) {
  auto file = File::OpenRead(path);
  if (!file.ok()) return file.status();
  return ReadNpyFile(std::move(*file));
}

}  // namespace

Result<std::unique_ptr<Samples>> OpenNpz(File file, const SamplesRequest& request) {
  const auto members = ReadZipDirectory(file);
  if (!members.ok()) return members.status();
  const std::vector<TargetRequest> outputs = TargetsOf(request);
  std::vector<std::string> keys = {"x"};
  for (const TargetRequest& output : outputs) keys.push_back(output.key);
  for (const std::string& key : keys) {  // before anything is inflated
    if (FindMember(members.value(), key) == members.value().end()) return MissingKey(file, members.value(), key);
  }
  const auto shared = std::make_shared<const File>(std::move(file));
  const auto read = [&](const std::string& key) { return ReadMember(shared, *FindMember(members.value(), key), key); };
  Arrays arrays;
  auto x = read("x");
  if (!x.ok()) return x.status();
  arrays.x = std::move(*x);
  for (const TargetRequest& output : outputs) {
    auto y = read(output.key);
    if (!y.ok()) return y.status();
    arrays.ys.push_back(std::move(*y));
  }
  const std::pair<const char*, std::optional<NpyArray>*> beside[] = {{"lengths", &arrays.lengths},
                                                                     {"weights", &arrays.weights},
                                                                     {"initial_state", &arrays.initial_state},
                                                                     {"target_lengths", &arrays.target_lengths}};
  for (const auto& [key, found] : beside) {
    if (found == &arrays.target_lengths && !request.unaligned) continue;
    if (found == &arrays.weights && request.inputs_only) continue;
    if (FindMember(members.value(), key) == members.value().end()) continue;
    auto array = read(key);
    if (!array.ok()) return array.status();
    *found = std::move(*array);
  }
  return NpySamples::Open(std::move(arrays), request);
}

Result<std::unique_ptr<Samples>> OpenNpy(File file, const SamplesRequest& request) {
  auto x = ReadNpyFile(std::move(file));
  if (!x.ok()) return x.status();
  Arrays arrays{.x = std::move(*x), .ys = {}, .lengths = {}, .weights = {}, .initial_state = {}, .target_lengths = {}};
  if (!request.inputs_only) {
    auto y = OpenNpyFile(request.targets);
    if (!y.ok()) return y.status();
    arrays.ys.push_back(std::move(*y));
  }
  const std::pair<const std::string*, std::optional<NpyArray>*> beside[] = {{&request.lengths, &arrays.lengths},
                                                                            {&request.weights, &arrays.weights},
                                                                            {&request.initial_state, &arrays.initial_state},
                                                                            {&request.target_lengths, &arrays.target_lengths}};
  for (const auto& [path, array] : beside) {
    if (path->empty()) continue;
    auto read = OpenNpyFile(*path);
    if (!read.ok()) return read.status();
    *array = std::move(*read);
  }
  return NpySamples::Open(std::move(arrays), request);
}

}  // namespace plimsoll
