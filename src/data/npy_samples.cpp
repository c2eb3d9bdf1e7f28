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
  const char* noun = "";    // "id", "feature", "class number", "target"
  const char* part = "";    // one element of a wide row: "feature", "value"
  bool within_one = false;  // values lie between 0 and 1
  bool one_hot = false;     // a row is zeros with a one at the class number
};

struct Arrays {
  NpyArray x;
  NpyArray y;
  std::optional<NpyArray> lengths;
  std::optional<NpyArray> weights;
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
    text += fmt::format(", sample {}, step {}", sample, padded ? row % layout.steps : row - lengths.first_row(sample));
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
  return BadElement(column, lengths, first + converted.value(), "a whole number from 0 to 2147483647",
                    fmt::format("{}s count from 0", column.noun));
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

// Looks at every element inside a sample's length once. `largest` is given for ids and class numbers.
Status Scan(const Column& column, const Lengths& lengths, int32_t* largest) {
  if (column.one_hot) {  // row by row, each checked as it is read
    std::vector<float> work(kScanElements);
    for (int64_t sample = 0; sample < lengths.count(); ++sample) {
      const int64_t rows = column.layout.rows == Rows::PerSample ? 1 : lengths.length(sample);
      const int64_t first = FirstElement(column.layout, lengths, sample, 0) / column.layout.width;
      for (int64_t row = 0; row < rows; ++row) {
        int32_t found = 0;
        PLIMSOLL_RETURN_IF_ERROR(ReadOneHot(column, lengths, first + row, 1, work.data(), &found));
        *largest = std::max(*largest, found);
      }
    }
    return Status::Ok();
  }
  std::vector<float> values(largest == nullptr ? kScanElements : 0);
  std::vector<int32_t> indices(largest == nullptr ? 0 : kScanElements);
  const auto scan_run = [&](int64_t first, int64_t count) {
    for (int64_t done = 0; done < count; done += kScanElements) {
      const int64_t now = std::min(kScanElements, count - done);
      PLIMSOLL_RETURN_IF_ERROR(largest == nullptr
                                   ? ReadValues(column, lengths, first + done, now, values.data())
                                   : ReadIndices(column, lengths, first + done, now, INT64_MAX, indices.data(), largest));
    }
    return Status::Ok();
  };
  const Layout& layout = column.layout;
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

Status ReadWeightAt(const Column& weights, const Lengths& lengths, int64_t sample, float* out) {
  PLIMSOLL_RETURN_IF_ERROR(ReadAsFloat(weights.array, sample, 1, out));
  if (std::isfinite(*out) && *out >= 0.0f) return Status::Ok();
  return BadElement(weights, lengths, sample, "a finite number from 0 on", "a weight of 0 leaves a sample out");
}

Status ScanWeights(const Column& weights, const Lengths& lengths) {
  float weight = 0.0f;
  for (int64_t sample = 0; sample < lengths.count(); ++sample)
    PLIMSOLL_RETURN_IF_ERROR(ReadWeightAt(weights, lengths, sample, &weight));
  return Status::Ok();
}

// Where each padded row begins and ends, by its padding. Padding between steps has no meaning here.
Result<Lengths> FindPadding(const NpyArray& x, const Layout& layout, float padding) {
  std::vector<float> work(static_cast<size_t>(layout.width));
  std::vector<int32_t> starts, lengths;
  for (int64_t sample = 0; sample < x.shape[0]; ++sample) {
    int64_t first = -1, end = 0;
    for (int64_t step = 0; step < layout.steps; ++step) {
      PLIMSOLL_RETURN_IF_ERROR(ReadAsFloat(x, (sample * layout.steps + step) * layout.width, layout.width, work.data()));
      if (std::all_of(work.begin(), work.end(), [&](float value) { return value == padding; })) continue;
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

class NpySamples final : public Samples {
 public:
  static Result<std::unique_ptr<Samples>> Open(Arrays arrays, const SamplesRequest& request) {
    const Task task = request.task;
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
    const auto targets =
        request.one_hot ? UnderstandOneHot(arrays.y, inputs.value()) : UnderstandTargets(arrays.y, inputs.value(), task);
    if (!targets.ok()) return targets.status();
    const bool ids = inputs->ids;
    const bool classes = task == Task::Classify;
    Column x{.array = std::move(arrays.x), .layout = inputs->layout, .noun = ids ? "id" : "feature", .part = "feature"};
    Column y{.array = std::move(arrays.y),
             .layout = targets.value(),
             .noun = classes ? "class number" : "target",
             .part = "value",
             .within_one = request.targets_within_one,
             .one_hot = request.one_hot};
    std::optional<Column> weights;
    if (arrays.weights) {
      weights = Column{.array = std::move(*arrays.weights), .layout = {.rows = Rows::PerSample}, .noun = "weight"};
      if (weights->array.shape != std::vector<int64_t>{inputs->lengths.count()})
        return Status::Data(fmt::format("{}: shape is {}; wanted ({},), a weight a sample", weights->array.name,
                                        ShapeText(weights->array.shape), inputs->lengths.count()));
      PLIMSOLL_RETURN_IF_ERROR(ScanWeights(*weights, inputs->lengths));
    }
    int32_t largest_id = 0, largest_class = 0;
    PLIMSOLL_RETURN_IF_ERROR(Scan(x, inputs->lengths, ids ? &largest_id : nullptr));
    PLIMSOLL_RETURN_IF_ERROR(Scan(y, inputs->lengths, classes ? &largest_class : nullptr));
    const SampleShape shape{.ids = ids,
                            .width = x.layout.width,
                            .target_per_step = y.layout.rows != Rows::PerSample,
                            .target_classes = classes,
                            .target_width = classes ? 1 : y.layout.width,
                            .vocabulary = ids ? int64_t{largest_id} + 1 : 0,
                            .classes = request.one_hot ? y.layout.width
                                       : classes       ? int64_t{largest_class} + 1
                                                       : 0,
                            .weighted = weights.has_value()};
    return std::unique_ptr<Samples>(
        new NpySamples(shape, std::move(inputs->lengths), std::move(x), std::move(y), std::move(weights)));
  }

  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return lengths_.count(); }
  int64_t length(int64_t sample) const override { return lengths_.length(sample); }

  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckRange(sample, first, steps, length(sample));
    return Read(x_, shape_.ids, shape_.vocabulary, sample, first, steps, out);
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckRange(sample, first, steps, shape_.target_per_step ? length(sample) : 1);
    if (y_.one_hot) {
      const int64_t row = FirstElement(y_.layout, lengths_, sample, first) / y_.layout.width;
      return ReadOneHot(y_, lengths_, row, steps, work_.data(), static_cast<int32_t*>(out));
    }
    return Read(y_, shape_.target_classes, shape_.classes, sample, first, steps, out);
  }
  Status ReadWeight(int64_t sample, float* out) override { return ReadWeightAt(*weights_, lengths_, sample, out); }

 private:
  NpySamples(const SampleShape& shape, Lengths lengths, Column x, Column y, std::optional<Column> weights)
      : shape_(shape),
        lengths_(std::move(lengths)),
        x_(std::move(x)),
        y_(std::move(y)),
        weights_(std::move(weights)),
        work_(y_.one_hot ? kScanElements : 0) {}

  void CheckRange(int64_t sample, int64_t first, int64_t steps, int64_t limit) const {
    PLIMSOLL_CHECK(sample >= 0 && sample < count(), "a sample number lies in [0, count)");
    PLIMSOLL_CHECK(first >= 0 && steps >= 0 && first <= limit && steps <= limit - first, "steps lie inside the sample");
  }
  Status Read(const Column& column, bool indices, int64_t bound, int64_t sample, int64_t first, int64_t steps,
              void* out) const {
    const int64_t element = FirstElement(column.layout, lengths_, sample, first);
    const int64_t count = steps * column.layout.width;
    if (indices) return ReadIndices(column, lengths_, element, count, bound, static_cast<int32_t*>(out));
    return ReadValues(column, lengths_, element, count, static_cast<float*>(out));
  }

  SampleShape shape_;
  Lengths lengths_;
  Column x_;
  Column y_;
  std::optional<Column> weights_;
  std::vector<float> work_;  // one-hot rows on their way
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
                      "save with np.savez(file, x=..., y=...), and lengths=... where rows end early");
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
  for (const char* key : {"x", "y"}) {  // before anything is inflated
    if (FindMember(members.value(), key) == members.value().end()) return MissingKey(file, members.value(), key);
  }
  const auto shared = std::make_shared<const File>(std::move(file));
  Arrays arrays;
  for (const std::string key : {"x", "y", "lengths", "weights"}) {
    const auto member = FindMember(members.value(), key);
    if (member == members.value().end()) continue;  // `lengths` and `weights` may be missing
    auto array = ReadMember(shared, *member, key);
    if (!array.ok()) return array.status();
    if (key == "lengths") {
      arrays.lengths = std::move(*array);
    } else if (key == "weights") {
      arrays.weights = std::move(*array);
    } else {
      (key == "x" ? arrays.x : arrays.y) = std::move(*array);
    }
  }
  return NpySamples::Open(std::move(arrays), request);
}

Result<std::unique_ptr<Samples>> OpenNpy(File file, const SamplesRequest& request) {
  auto x = ReadNpyFile(std::move(file));
  if (!x.ok()) return x.status();
  auto y = OpenNpyFile(request.targets);
  if (!y.ok()) return y.status();
  Arrays arrays{.x = std::move(*x), .y = std::move(*y), .lengths = std::nullopt, .weights = std::nullopt};
  for (const bool lengths : {true, false}) {
    const std::string& path = lengths ? request.lengths : request.weights;
    if (path.empty()) continue;
    auto read = OpenNpyFile(path);
    if (!read.ok()) return read.status();
    (lengths ? arrays.lengths : arrays.weights) = std::move(*read);
  }
  return NpySamples::Open(std::move(arrays), request);
}

}  // namespace plimsoll
