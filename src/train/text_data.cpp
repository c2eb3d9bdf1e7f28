#include "train/text_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <variant>

#include "base/bytes.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/random.h"
#include "data/ingest.h"
#include "data/order.h"
#include "data/store.h"
#include "train/budget.h"

namespace plimsoll {
namespace {

constexpr int64_t kLeastRoom = 2 * kMiB;
constexpr int64_t kBuffers = 3 * kMiB / 2;  // of files, lines and samples of the usual sizes

std::vector<std::string> Absolute(const std::string& first, const std::vector<std::string>& more) {
  std::vector<std::string> files = {first};
  files.insert(files.end(), more.begin(), more.end());
  for (std::string& file : files) file = std::filesystem::absolute(file).lexically_normal().string();
  return files;
}

void Tell(Observer* observer, const std::string& line) {
  if (observer != nullptr) observer->Message(line);
}

// What came of the reading, in a line or some.
void Describe(Observer* observer, const IngestedStore& store, const TextSettings& settings) {
  if (observer == nullptr) return;
  const StoreFacts& facts = store.facts;
  const bool series = facts.layout == StoreLayout::Series;
  std::string line = fmt::format("data   {}: ", std::filesystem::path(facts.sources[0].path).filename().string());
  if (facts.layout == StoreLayout::Stream) {
    line += fmt::format("one text of {} tokens", facts.row_steps);
  } else if (series) {
    line += fmt::format("{} series, {} rows", facts.samples, facts.row_steps);
  } else {
    line += fmt::format("{} samples of {} steps, the longest has {}", facts.samples, facts.row_steps, facts.longest);
  }
  if (facts.ids) {
    line += fmt::format("; vocabulary {}", facts.vocabulary);
    if (facts.unknown > 0)
      line +=
          fmt::format(" ({:.2f} % unknown)", 100.0 * static_cast<double>(facts.unknown) / static_cast<double>(facts.row_steps));
  }
  if (LearnsClasses(settings.task) && (settings.task != Task::Lm || settings.set_steps()))
    line += fmt::format("; {} labels", settings.several_labels() ? facts.target_width : facts.classes);
  line += store.reused ? "; read before" : "";
  observer->Message(line);
  for (const std::string& note : facts.notes) observer->Message("       " + note);
  if (facts.cut > 0)
    observer->Message(
        fmt::format("       {} samples were longer than data.max_length = {} and are cut", facts.cut, settings.max_length));
  if (facts.bad > 0) observer->Message(fmt::format("       {} bad lines were passed over:", facts.bad));
  for (const std::string& bad : facts.bad_lines) observer->Message("         " + bad);
  if (facts.bad > static_cast<int64_t>(facts.bad_lines.size()) && !facts.bad_lines.empty()) observer->Message("         ...");
}

bool CarriesState(const Job& job) {
  return std::any_of(job.layers.begin(), job.layers.end(), [](const LayerOptions& layer) {
    return std::visit(
        [](const auto& options) {
          if constexpr (requires { options.stateful; }) return options.stateful;
          return false;
        },
        layer.kind);
  });
}

Result<std::unique_ptr<Samples>> OpenChecked(const IngestedStore& store, const StoreView& view) {
  Result<std::unique_ptr<Samples>> samples = OpenStore(store.folder, view);
  if (samples.ok() && (*samples)->count() == 0)
    return Status::Data(
        fmt::format("{}: a text of {} tokens is too short for {} rows that go on for data.window = {} steps each",
                    store.facts.sources[0].path, store.facts.row_steps, view.carried_by, view.window),
        "a smaller train.batch_size or data.window");
  return samples;
}

// Classes of which all samples are kept for validation.
Result<int64_t> OnlyInValidation(const IngestedStore& store, const Job& job) {
  Result<File> targets = File::OpenRead(store.folder + "/targets.bin");
  if (!targets.ok()) return targets.status();
  const uint64_t seed = SeedFor(job.train.seed, RandomUse::Split);
  std::vector<bool> trained(static_cast<size_t>(store.facts.classes)), seen(static_cast<size_t>(store.facts.classes));
  std::vector<int32_t> piece(4096);
  for (int64_t first = 0; first < store.facts.samples; first += static_cast<int64_t>(piece.size())) {
    const int64_t now = std::min(static_cast<int64_t>(piece.size()), store.facts.samples - first);
    PLIMSOLL_RETURN_IF_ERROR(targets->ReadAt(first * 4, now * 4, piece.data()));
    for (int64_t i = 0; i < now; ++i) {
      const auto label = static_cast<size_t>(piece[static_cast<size_t>(i)]);
      if (label >= seen.size()) continue;  // the samples refuse it when they are read
      seen[label] = true;
      if (!InValidation(first + i, job.data.valid_share, seed)) trained[label] = true;
    }
  }
  int64_t only = 0;
  for (size_t label = 0; label < seen.size(); ++label) only += seen[label] && !trained[label];
  return only;
}

// What the budget leaves for reading. The program's pages are not all in memory yet, so that this much is there at least.
Result<int64_t> RoomForReading(const Job& job) {
  const int64_t resident = ResidentBytes();
  const Result<Budget> budget = ResolveBudget(job.memory.budget, ReadMemoryFacts(), resident);
  if (!budget.ok()) return budget.status();
  return std::max(kLeastRoom, budget.value().bytes - resident);
}

// A refusal of the reader's names what one thing takes; the user states a budget for all of it.
Status WithWholeBudget(const Status& status) {
  if (status.kind() != StatusKind::OverBudget) return status;
  const int64_t bytes = ResidentBytes() + status.min_bytes() + CounterBytes(1) + 2 * kBuffers;
  return Status::OverBudget(
      {.message = fmt::format("{}; {} are enough, and once it is read less may do", status.message(), PrettyBytesUp(bytes)),
       .hint = status.hint(),
       .min_bytes = bytes});
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// `named`, or the model folder in it, whichever has a dictionary; empty: neither.
std::string FolderWithDictionary(const std::string& named) {
  for (const std::string& folder : {named, named + "/model"}) {
    for (const std::string_view file : kDictionaryFiles) {
      if (Exists(fmt::format("{}/{}", folder, file))) return folder;
    }
  }
  return {};
}

Result<bool> HaveSameBytes(const std::string& one, const std::string& other) {
  const Result<File> a = File::OpenRead(one), b = File::OpenRead(other);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  std::vector<char> piece(32 * kKiB);
  const int64_t half = 16 * kKiB;
  bool same = a.value().size() == b.value().size();
  for (int64_t at = 0; same && at < a.value().size(); at += half) {
    const int64_t now = std::min(half, a.value().size() - at);
    PLIMSOLL_RETURN_IF_ERROR(a.value().ReadAt(at, now, piece.data()));
    PLIMSOLL_RETURN_IF_ERROR(b.value().ReadAt(at, now, piece.data() + half));
    same = std::equal(piece.begin(), piece.begin() + now, piece.begin() + half);
  }
  return same;
}

// Weights mean something beside the words and classes that they were learnt with, cut in the same way.
Status CheckSameDictionary(const Job& job, const std::string& dictionary) {
  const std::string model = job.init_from.empty() ? "" : FolderWithDictionary(job.init_from);
  if (model.empty()) return Status::Ok();
  for (const std::string_view file : kDictionaryFiles) {
    const std::string own = fmt::format("{}/{}", dictionary, file), theirs = fmt::format("{}/{}", model, file);
    if (!Exists(own) || !Exists(theirs)) continue;
    const Result<bool> same = HaveSameBytes(own, theirs);
    if (!same.ok()) return same.status();
    if (!same.value())
      return Status::Data(fmt::format("init_from: {} and {} differ: the weights know other ids", theirs, own),
                          "leave data.dictionary out: init_from brings its own");
  }
  const Result<Job> before = ReadJob(model + "/job.toml", {});
  if (!before.ok()) return before.status();
  const auto tokens = [](const Job& of) {
    if (of.data.tokens != TokenKind::Auto) return of.data.tokens;
    return of.task == Task::Lm ? TokenKind::Char : TokenKind::Word;
  };
  if (!Exists(fmt::format("{}/{}", model, kVocabularyFile)) || tokens(job) == tokens(before.value())) return Status::Ok();
  return Status::Usage(
      fmt::format("init_from: the model of {} cuts text into other tokens than data.tokens says here", job.init_from),
      "set data.tokens as in its job.toml");
}

// A model folder that the job begins from, or whose words it is to use.
Result<std::string> DictionaryOf(const Job& job) {
  const std::string& named = job.data.dictionary.empty() ? job.init_from : job.data.dictionary;
  if (named.empty()) return std::string();
  if (std::string folder = FolderWithDictionary(named); !folder.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSameDictionary(job, folder));
    return folder;
  }
  if (job.data.dictionary.empty()) return std::string();  // begins from weights alone
  return Status::Data(fmt::format("{}: holds none of {}", named, fmt::join(kDictionaryFiles, ", ")),
                      "name the model folder of a run on text");
}

}  // namespace

Result<TextData> OpenTextData(const Job& job, Observer* observer) {
  const DataOptions& data = job.data;
  if (!job.outputs.empty())
    return Status::Usage("[[outputs]]: text has the targets of one output", "leave them out, or use a .npz file");
  const std::vector<std::string> files = Absolute(data.train, data.train_more);
  Result<TextSettings> settings = SettingsOf(data, job.task, files[0]);
  if (!settings.ok()) return settings.status();
  const Result<int64_t> room = RoomForReading(job);
  if (!room.ok()) return room.status();
  if (!data.categories.empty() && job.task != Task::Forecast) settings->split_seed = SeedFor(job.train.seed, RandomUse::Split);
  // A line costs what it is cut into: up to 30 bytes for each of its own.
  settings->line_bytes = std::clamp<int64_t>(room.value() / 40, 128 * kKiB, kLineBytes);
  settings->window_bytes = std::clamp<int64_t>(room.value() - kBuffers - CounterBytes(1), kMiB, kMostZstdWindow);
  const Result<std::string> dictionary = DictionaryOf(job);
  if (!dictionary.ok()) return dictionary.status();

  IngestRequest request{.files = files,
                        .settings = *settings,
                        .cache = data.cache,
                        .dictionary = dictionary.value(),
                        .new_labels = false,
                        .room_bytes = std::max(room.value() - kBuffers, CounterBytes(1)),
                        .observer = observer};
  Result<IngestedStore> train = Ingest(request);
  if (!train.ok()) return WithWholeBudget(train.status());
  Describe(observer, *train, *settings);
  TextData opened{.dictionary = train->folder, .labels = train->folder};
  StoreView view{.window = data.window,
                 .carried_by = settings->stream && CarriesState(job) ? job.train.batch_size : 0,
                 .horizon = data.horizon,
                 .stride = data.stride,
                 .valid_share = settings->valid_share};
  opened.split = job.task == Task::Forecast && data.valid_share > 0.0;
  if (opened.split) {
    view.part = StoreView::Part::Valid;
    Result<std::unique_ptr<Samples>> valid = OpenChecked(*train, view);
    if (!valid.ok()) return valid.status();
    opened.valid = std::move(valid).value();
    view.part = StoreView::Part::Train;
  }
  Result<std::unique_ptr<Samples>> samples = OpenChecked(*train, view);
  if (!samples.ok()) return samples.status();
  opened.samples = std::move(samples).value();
  if (view.carried_by > 0) {
    const int64_t left = train->facts.row_steps - 1 - opened.samples->count() * opened.samples->length(0);
    Tell(observer, fmt::format("       {} tokens at the end are left out: State that goes on needs whole batches", left));
  }
  if (job.task == Task::Classify && !settings->several_labels() && data.valid_share > 0.0) {
    const Result<int64_t> only = OnlyInValidation(*train, job);
    if (!only.ok()) return only.status();
    if (only.value() > 0)
      Tell(observer, fmt::format("warning: {} of the {} labels are seen only in validation; nothing can be learnt about them",
                                 only.value(), train->facts.classes));
  }
  if (data.valid_file.empty()) return opened;

  const Result<bool> text = IsText(data.valid_file);
  if (!text.ok()) return text.status();
  if (!text.value())
    return Status::Usage(fmt::format("{}: is no text, as the training data are", data.valid_file),
                         "name a file of the same kind");
  request.files = Absolute(data.valid_file, data.valid_more);
  request.dictionary = train->folder;
  request.new_labels = dictionary.value().empty();
  Result<IngestedStore> valid = Ingest(request);
  if (!valid.ok()) return WithWholeBudget(valid.status());
  Describe(observer, *valid, *settings);
  if (valid->facts.new_labels > 0) {
    opened.labels = valid->folder;
    Tell(observer,
         fmt::format("warning: {} of the {} labels are seen only in validation ({}); nothing can be learnt about them",
                     valid->facts.new_labels, valid->facts.classes, data.valid_file));
  }
  view.scale_folder = train->folder;
  Result<std::unique_ptr<Samples>> other = OpenChecked(*valid, view);
  if (!other.ok()) return other.status();
  opened.valid = std::move(other).value();
  return opened;
}

Result<TokenTable> ReadLabels(const TextData& data) {
  const std::string path = fmt::format("{}/{}", data.labels, kLabelsFile);
  return Exists(path) ? ReadLines(path) : Result<TokenTable>(TokenTable());
}

Status CopyDictionary(const TextData& data, const std::string& folder) {
  for (const std::string_view name : kDictionaryFiles) {
    const std::string& from = name == kLabelsFile ? data.labels : data.dictionary;
    const std::string path = fmt::format("{}/{}", from, name);
    if (!Exists(path)) continue;
    Result<File> file = File::OpenRead(path);
    if (!file.ok()) return file.status();
    Result<FileWriter> copy = FileWriter::Create(fmt::format("{}/{}", folder, name));
    if (!copy.ok()) return copy.status();
    std::vector<std::byte> piece(16 * kKiB);
    for (int64_t at = 0; at < file->size();) {
      const int64_t now = std::min<int64_t>(static_cast<int64_t>(piece.size()), file->size() - at);
      PLIMSOLL_RETURN_IF_ERROR(file->ReadAt(at, now, piece.data()));
      PLIMSOLL_RETURN_IF_ERROR(copy->Write(std::span(piece).first(static_cast<size_t>(now))));
      at += now;
    }
    PLIMSOLL_RETURN_IF_ERROR(copy->Commit());
  }
  return Status::Ok();
}

}  // namespace plimsoll
