// samples: the one door to all sources of data.
//   in:    what the job names
//   out:   a Samples object; or what the file is instead, and what can be read
//   never: goes by a file's name; its first bytes decide
#include "data/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

#include "base/file.h"
#include "data/generator.h"
#include "data/npy.h"
#include "data/npy_samples.h"

namespace plimsoll {
namespace {

using namespace std::string_view_literals;

enum class Kind { Npy, Npz, Text, Other };

struct FirstBytes {
  std::string_view bytes;
  Kind kind;
  const char* what;
  const char* way_out;
};
constexpr auto kArrays = "readable here are .npy and .npz files and generate:NAME";
constexpr auto kReadable = "readable are text, tables, JSON lines (also .gz and .zst), .npy and .npz files and generate:NAME";
constexpr std::array kFirstBytes = {
    FirstBytes{std::string_view(kNpyMagic.data(), kNpyMagic.size()), Kind::Npy, ".npy", ""},
    FirstBytes{"PK\3\4"sv, Kind::Npz, "zip", ""},
    FirstBytes{"PK\5\6"sv, Kind::Npz, "empty zip", ""},
    FirstBytes{"\x1f\x8b"sv, Kind::Text, "gzip", ""},
    FirstBytes{"\x28\xb5\x2f\xfd"sv, Kind::Text, "zstd", ""},
    FirstBytes{"\x89HDF"sv, Kind::Other, "an HDF5 file", "save its arrays with np.savez(file, x=..., y=...)"},
    FirstBytes{"PAR1"sv, Kind::Other, "a Parquet file", "save its columns with np.savez(file, x=..., y=...)"},
    FirstBytes{"\x80\x02"sv, Kind::Other, "a pickle", "save arrays with np.savez(file, x=..., y=...)"},
    FirstBytes{"\x80\x04"sv, Kind::Other, "a pickle", "save arrays with np.savez(file, x=..., y=...)"},
};

Result<Kind> Recognise(const File& file) {
  std::array<char, 64> buffer{};
  const int64_t bytes = std::min(file.size(), static_cast<int64_t>(buffer.size()));
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(0, bytes, buffer.data()));
  const std::string_view start(buffer.data(), static_cast<size_t>(bytes));
  if (start.empty()) return Status::Data(fmt::format("{}: is empty; {}", file.path(), kReadable));
  for (const FirstBytes& known : kFirstBytes) {
    if (!start.starts_with(known.bytes)) continue;
    if (known.kind != Kind::Other) return known.kind;
    return Status::Data(fmt::format("{}: is {}; {}", file.path(), known.what, kReadable), known.way_out);
  }
  return Kind::Text;  // whose reader says where it is none
}

Result<std::unique_ptr<Samples>> OpenSource(const SamplesRequest& request) {
  const bool has_extra = !request.targets.empty() || !request.lengths.empty() || !request.weights.empty() ||
                         !request.initial_state.empty() || !request.target_lengths.empty();
  if (request.source.empty()) return Status::Usage("no data named", "set data.train to a .npy or .npz file or generate:NAME");
  if (request.unaligned && request.task != Task::Classify)
    return Status::Usage("train.loss = \"ctc\" does not go with task \"regress\": its targets are labels",
                         "set task = \"classify\"");
  if (!request.unaligned && !request.target_lengths.empty())
    return Status::Usage("data.target_lengths: only loss \"ctc\" has targets of their own length",
                         "leave it out, or set train.loss = \"ctc\"");
  if (request.source.starts_with(kGeneratorPrefix)) {
    if (has_extra)
      return Status::Usage(fmt::format("{}: a generator makes its own targets and lengths, and has no more", request.source));
    if (!request.outputs.empty()) {
      return Status::Usage(fmt::format("{}: a generator makes the targets of one output", request.source),
                           "leave [[outputs]] out, or use a .npz file");
    }
    if (request.padding) {
      return Status::Usage(fmt::format("{}: a generator knows its lengths", request.source),
                           "leave mask_zero or the Masking layer out");
    }
    if (request.one_hot) {
      return Status::Usage(fmt::format("{}: a generator's classes are numbers", request.source),
                           "leave train.loss out, or write sparse_categorical_crossentropy");
    }
    if (request.targets_within_one) {
      return Status::Usage(fmt::format("{}: a generator's values do not lie between 0 and 1", request.source),
                           "choose another loss than binary_crossentropy, or another source");
    }
    auto generator = OpenGenerator(request.source, request.task, request.seed);
    if (generator.ok() && request.unaligned && (*generator)->shape().longest_target == 0)
      return Status::Usage(fmt::format("{}: its targets are no sequences of labels, which loss \"ctc\" needs", request.source),
                           "generate:spell has such targets");
    return generator;
  }
  auto file = File::OpenRead(request.source);
  if (!file.ok()) return file.status();
  const auto kind = Recognise(file.value());
  if (!kind.ok()) return kind.status();
  if (kind.value() == Kind::Text)
    return Status::Data(fmt::format("{}: is text or of an unknown kind; {}", request.source, kArrays),
                        "validation data are of the kind of the training data");
  if (kind.value() == Kind::Npz) {
    if (has_extra) {
      return Status::Usage(
          fmt::format("{}: a .npz holds its own `y`, `lengths`, `weights`, `initial_state` and `target_lengths`",
                      request.source),
          "leave out data.targets, data.lengths, data.weights, data.initial_state and data.target_lengths");
    }
    return OpenNpz(std::move(*file), request);
  }
  if (!request.outputs.empty()) {
    return Status::Usage(fmt::format("{}: a .npy file beside another has the targets of one output", request.source),
                         "save x and the targets of all outputs in one .npz file");
  }
  if (request.targets.empty() && !request.inputs_only) {
    return Status::Usage(fmt::format("{}: a .npy file holds inputs only", request.source),
                         "name the .npy file of the targets as data.targets");
  }
  return OpenNpy(std::move(*file), request);
}

}  // namespace

Result<bool> IsText(const std::string& source) {
  if (source.empty() || source.starts_with(kGeneratorPrefix)) return false;
  const Result<File> file = File::OpenRead(source);
  if (!file.ok()) return file.status();
  const Result<Kind> kind = Recognise(file.value());
  if (!kind.ok()) return kind.status();
  // Its bytes decide, but nobody calls text so: the archive is damaged.
  if (kind.value() == Kind::Text && (source.ends_with(".npz") || source.ends_with(".npy")))
    return Status::Data(fmt::format("{}: is text or of an unknown kind, whatever its name says; {}", source, kReadable),
                        "save it again, or give text another name");
  return kind.value() == Kind::Text;
}

Result<std::unique_ptr<Samples>> OpenSamples(const SamplesRequest& request) {
  try {
    return OpenSource(request);
  } catch (const std::bad_alloc&) {  // the length table is the one part that grows with the data
    StatusDetails details;
    details.message = fmt::format("{}: out of memory while opening", request.source);
    return Status(StatusKind::Internal, std::move(details));
  }
}

}  // namespace plimsoll
