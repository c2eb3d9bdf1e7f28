#include "data/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "data/bpe_encoder.h"
#include "data/bpe_trainer.h"
#include "data/order.h"
#include "data/series_samples.h"
#include "data/store_folder.h"
#include "data/token_ids.h"
#include "data/vocabulary.h"

namespace plimsoll {
namespace {

constexpr int64_t kReportRecords = 2048;
constexpr size_t kLongestCounted = 200;  // bytes of a token; a longer one is no word that comes again

template <typename T>
Status WriteValues(FileWriter& file, std::span<const T> values) {
  return file.Write(std::as_bytes(values));
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

class Ingestion {
 public:
  Ingestion(const IngestRequest& request, std::string settings, Tokenizer tokenizer)
      : request_(request), settings_(request.settings), tokenizer_(std::move(tokenizer)), bad_(settings_.skip_bad) {
    facts_.settings = std::move(settings);
  }

  Result<IngestedStore> Run(const std::string& folder) {
    FindLayout();
    PLIMSOLL_RETURN_IF_ERROR(MakeDictionary());
    Result<StoreDraft> draft = StoreDraft::Create(folder);
    if (!draft.ok()) return draft.status();
    PLIMSOLL_RETURN_IF_ERROR(Store(draft->path()));
    PLIMSOLL_RETURN_IF_ERROR(draft->Publish());
    return IngestedStore{.folder = folder, .facts = std::move(facts_), .reused = false};
  }

 private:
  bool counts_tokens() const {
    return !settings_.numbers() && !settings_.set_steps() &&
           (settings_.tokens == TokenKind::Char || settings_.tokens == TokenKind::Word || makes_pieces());
  }
  bool makes_pieces() const { return settings_.tokens == TokenKind::Bpe; }
  bool has_labels() const { return LearnsClasses(settings_.task) && (settings_.task != Task::Lm || settings_.set_steps()); }
  bool has_ends() const { return facts_.layout == StoreLayout::Documents; }

  void FindLayout();
  Status MakeDictionary();
  Status FillDictionary();
  Status ReadDictionary();
  Status Count();
  Status CountSides(SideCounter& counter, const TextSample& sample);
  void EncodeSides(const TextSample& sample);
  Status MakePieces(TokenCounter counter, int64_t most);
  Status TooSmall(int64_t vocabulary) const;
  Status Store(const std::string& folder);
  Status StoreSample(const TextSample& sample);
  Status StoreTokens(const TextSample& sample, int64_t steps);
  Status StoreLabels(const TextSample& sample, int64_t steps);
  Status WriteSet(FileWriter& file, std::span<const int32_t> numbers);
  Status WriteSets(FileWriter& file, const TextSample& sample, int64_t first, int64_t end);
  Status StoreRow(const TextSample& sample);
  Status WriteScale(const std::string& folder);
  Status EndSeries();
  Status Finish(const std::string& folder);

  template <typename Use>
  Status EachSample(bool counting, const Use& use);
  void Report(const SampleReader& reader, int64_t bytes_before, int64_t lines, bool counting) const;
  std::string_view TokenOf(const TextSample& sample, size_t i) {
    return sample.whole ? tokenizer_.Whole(sample.tokens[i]) : sample.tokens[i];
  }
  // What is wrong with the sample at hand.
  Status Bad(const TextSample& sample, const std::string& what) {
    return bad_.Note(*path_, fmt::format("{}: {}", sample.line, what));
  }

  const IngestRequest& request_;
  const TextSettings& settings_;
  Tokenizer tokenizer_;
  BadLines bad_;
  StoreFacts facts_;
  Vocabulary vocabulary_;
  std::optional<BpeEncoder> encoder_;  // with tokens = "bpe"
  TokenTable labels_;
  SideColumns sides_;
  bool given_ = false;  // the dictionary is another data set's
  bool two_passes_ = false;
  const std::string* path_ = nullptr;

  // While storing.
  FileWriter* inputs_ = nullptr;
  FileWriter* lengths_ = nullptr;
  FileWriter* targets_ = nullptr;
  FileWriter* runs_ = nullptr;
  std::vector<int32_t> ids_;
  std::vector<int32_t> pieces_;  // of the sample at hand, with tokens = "bpe"
  std::vector<unsigned char> packed_;
  std::vector<float> floats_;
  std::vector<double> side_numbers_;  // of the row at hand
  std::string first_unseen_;          // category or label that training does not have
  int64_t unseen_labels_ = 0;         // where a sample or a step has several
  bool stored_ = false;               // the sample at hand is no bad line
  // Series.
  std::string series_;
  TokenTable seen_series_;
  int64_t series_first_ = 0;
  int64_t series_rows_ = 0;  // while counting: rows of the series so far; elsewhere samples
  int64_t run_first_ = -1;   // of rows with known targets; -1: none is open
  std::vector<KnownRun> open_runs_;
};

void Ingestion::FindLayout() {
  facts_.layout = settings_.task == Task::Forecast ? StoreLayout::Series
                  : settings_.stream               ? StoreLayout::Stream
                  : settings_.set_steps()          ? StoreLayout::Rows
                  : settings_.task == Task::Lm     ? StoreLayout::Documents
                                                   : StoreLayout::Rows;
  facts_.ids = !settings_.numbers() && !settings_.set_steps();
  facts_.target_per_step = settings_.task == Task::Tag || settings_.task == Task::Lm;
  facts_.target_classes = LearnsClasses(settings_.task) && !settings_.several_labels();
}

void Ingestion::Report(const SampleReader& reader, int64_t bytes_before, int64_t lines, bool counting) const {
  if (request_.observer == nullptr) return;
  int64_t total = 0;
  for (const StoredSource& source : facts_.sources) total += source.bytes;
  const int64_t passes = two_passes_ ? 2 : 1;
  request_.observer->Reading({.file = reader.source().path(),
                              .bytes = bytes_before + reader.source().consumed() + (two_passes_ && !counting ? total : 0),
                              .total_bytes = total * passes,
                              .lines = lines,
                              .counts = counting});
}

// Every sample of every file, in order. Whoever changes a file between two passes is found out.
template <typename Use>
Status Ingestion::EachSample(bool counting, const Use& use) {
  TextSample sample;
  int64_t lines = 0, bytes_before = 0;
  bad_.Restart();
  if (facts_.sources.empty()) {
    for (const std::string& path : request_.files) {
      const Result<File> file = File::OpenRead(path);
      if (!file.ok()) return file.status();
      const FileFacts facts = file.value().Facts();
      facts_.sources.push_back({.path = path, .bytes = facts.bytes, .changed_ns = facts.changed_ns});
    }
  }
  for (size_t i = 0; i < request_.files.size(); ++i) {
    path_ = &request_.files[i];
    Result<std::unique_ptr<SampleReader>> opened = SampleReader::Open(*path_, settings_, tokenizer_, bad_);
    if (!opened.ok()) return opened.status();
    SampleReader& reader = **opened;
    while (true) {
      const Result<bool> next = reader.Next(sample);
      if (!next.ok()) return next.status();
      if (!next.value()) break;
      PLIMSOLL_RETURN_IF_ERROR(use(sample));
      if (++lines % kReportRecords == 0) Report(reader, bytes_before, lines, counting);
    }
    StoredSource& source = facts_.sources[i];
    const FileFacts now = reader.source().facts();
    const uint64_t fingerprint = reader.source().fingerprint();
    if (now.bytes != source.bytes || now.changed_ns != source.changed_ns ||
        (!counting && two_passes_ && fingerprint != source.fingerprint))
      return Status::Data(fmt::format("{}: changed while it was read", *path_), "start again when it is complete");
    source.fingerprint = fingerprint;
    bytes_before += source.bytes;
    Report(reader, bytes_before - reader.source().consumed(), lines, counting);
  }
  facts_.lines = lines + bad_.count();
  if (lines == 0) {
    const std::string more = bad_.count() > 0 ? fmt::format("; {} bad lines were passed over", bad_.count()) : "";
    return Status::Data(fmt::format("{}: has no samples{}", request_.files[0], more));
  }
  return Status::Ok();
}

Status Ingestion::MakeDictionary() {
  PLIMSOLL_RETURN_IF_ERROR(FillDictionary());
  if (!facts_.ids || !makes_pieces()) return Status::Ok();
  Result<BpeEncoder> encoder = BpeEncoder::Make(vocabulary_, fmt::format("{}/{}", request_.dictionary, kVocabularyFile));
  if (!encoder.ok()) return encoder.status();
  encoder_ = std::move(encoder).value();
  return Status::Ok();
}

Status Ingestion::FillDictionary() {
  if (!request_.dictionary.empty()) return ReadDictionary();
  two_passes_ = counts_tokens() || has_labels() || settings_.has_sides();
  if (facts_.ids && settings_.tokens == TokenKind::Byte) vocabulary_ = Vocabulary::OfBytes({.ends = has_ends()});
  return two_passes_ ? Count() : Status::Ok();
}

Status Ingestion::ReadDictionary() {
  const std::string vocabulary = fmt::format("{}/{}", request_.dictionary, kVocabularyFile);
  const std::string labels = fmt::format("{}/{}", request_.dictionary, kLabelsFile);
  given_ = true;
  if (facts_.ids && settings_.tokens != TokenKind::Ids) {
    Result<Vocabulary> read = Vocabulary::Read(vocabulary);
    if (!read.ok()) return read.status();
    vocabulary_ = std::move(read).value();
    if (has_ends() && vocabulary_.special(Vocabulary::End) < 0)
      return Status::Data(fmt::format("{}: has no \\begin and \\end, which texts of their own need", vocabulary),
                          "set data.window as the model was trained with");
  }
  if (has_labels()) {
    Result<TokenTable> read = ReadLines(labels);
    if (!read.ok()) return read.status();
    labels_ = std::move(read).value();
  }
  if (settings_.has_sides()) {
    Result<SideColumns> read = SideColumns::Read(request_.dictionary);
    if (!read.ok()) return read.status();
    if (read->names() != settings_.sides)
      return Status::Data(fmt::format("{}/{}: is of other columns", request_.dictionary, kFeaturesFile),
                          "data.categories and data.dates must be those of the model");
    sides_ = std::move(read).value();
  }
  return Status::Ok();
}

// A row of a series may train by its place, a sample of its own by its number.
Status Ingestion::CountSides(SideCounter& counter, const TextSample& sample) {
  if (facts_.layout == StoreLayout::Series) {
    if (sample.series != series_) {
      counter.EndGroup(SeriesBorder(series_rows_, settings_.valid_share));
      series_ = sample.series;
      series_rows_ = 0;
    }
    counter.Add(sample.categories, sample.dates, series_rows_++);
  } else {
    counter.Add(sample.categories, sample.dates, 0);
    counter.EndGroup(InValidation(series_rows_++, settings_.valid_share, settings_.split_seed) ? 0 : 1);
  }
  if (counter.values() > kMostCategories)
    return Status::Data(fmt::format("{}:{}: more than {} different values in data.categories; are all of them categories?",
                                    *path_, sample.line, kMostCategories),
                        "data.inputs where they are numbers that mean an amount");
  return Status::Ok();
}

Status Ingestion::Count() {
  const int64_t usual = makes_pieces() ? kPiecesKept : kWordsKept;
  const int64_t most = settings_.vocabulary > 0 ? settings_.vocabulary : usual;
  TokenCounter counter(CounterBytes(most));
  TokenTable labels;
  SideCounter sides(settings_.sides);
  PLIMSOLL_RETURN_IF_ERROR(EachSample(/*counting=*/true, [&](const TextSample& sample) {
    for (size_t i = 0; counts_tokens() && i < sample.tokens.size(); ++i) {
      const std::string_view token = TokenOf(sample, i);
      if (token.size() <= kLongestCounted) counter.Add(token);
    }
    if (counter.bytes() > request_.room_bytes) return TooSmall(most);
    for (const std::string_view label : sample.labels) labels.Add(label);
    if (labels.size() > kMostClasses)
      return Status::Data(fmt::format("{}:{}: more than {} different labels; is this the column of the label?", *path_,
                                      sample.line, kMostClasses),
                          "task = \"regress\" where labels are numbers that mean an amount");
    return settings_.has_sides() ? CountSides(sides, sample) : Status::Ok();
  }));
  if (facts_.layout == StoreLayout::Series) sides.EndGroup(SeriesBorder(series_rows_, settings_.valid_share));
  sides_ = sides.Columns();
  series_.clear();
  if (counts_tokens()) {
    if (counter.drops() > 0)
      facts_.notes.push_back(
          fmt::format("more different tokens than the counter holds ({}): those seen at most {} times were dropped, {} times",
                      PrettyBytes(CounterBytes(most)), counter.dropped_below(), counter.drops()));
    if (makes_pieces()) {
      PLIMSOLL_RETURN_IF_ERROR(MakePieces(std::move(counter), most));
    } else {
      vocabulary_ = Vocabulary::Make(counter, {.unknown = true, .ends = has_ends()}, most);
    }
  }
  labels_ = SortedNames(labels);
  return Status::Ok();
}

Status Ingestion::TooSmall(int64_t vocabulary) const {
  return Status::OverBudget(
      {.message = fmt::format("{}: counting its words needs more memory than the budget leaves for reading", *path_),
       .hint = "a larger --memory for the first start, a smaller data.vocabulary, or data.tokens = \"char\"",
       .min_bytes = (makes_pieces() ? 2 : 1) * CounterBytes(vocabulary)});
}

Status Ingestion::MakePieces(TokenCounter counter, int64_t most) {
  const int64_t bound = 2 * CounterBytes(most);
  if (LearningBytes(counter, bound) > request_.room_bytes) return TooSmall(most);
  const Vocabulary::Specials specials{.unknown = false, .ends = has_ends()};
  const int64_t bytes = Vocabulary::OfBytes(specials).size();
  const LearntPieces learnt = LearnPieces(std::move(counter), most - bytes, bound);
  vocabulary_ = Vocabulary::OfPieces(learnt.pieces, specials);
  if (learnt.words < learnt.all_words)
    facts_.notes.push_back(fmt::format("pieces were learnt from the {} most frequent of {} different words, which fill {}",
                                       learnt.words, learnt.all_words, PrettyBytes(bound)));
  return Status::Ok();
}

Status Ingestion::Store(const std::string& folder) {
  const bool series = facts_.layout == StoreLayout::Series;
  const auto create = [&](const char* name) { return FileWriter::Create(folder + name); };
  Result<FileWriter> inputs = create("/inputs.bin"), lengths = create("/lengths.bin"), targets = create("/targets.bin"),
                     runs = create("/runs.bin");
  for (const Result<FileWriter>* made : {&inputs, &lengths, &targets, &runs}) {
    if (!made->ok()) return made->status();
  }
  inputs_ = &*inputs;
  lengths_ = &*lengths;
  targets_ = &*targets;
  runs_ = &*runs;
  const int64_t largest = settings_.tokens == TokenKind::Ids
                              ? (settings_.vocabulary > 0 ? settings_.vocabulary : kMostClasses + 1)
                              : vocabulary_.size();
  facts_.id_bytes = largest <= 256 ? 1 : largest <= 65536 ? 2 : 4;
  facts_.vocabulary = facts_.ids ? (settings_.tokens == TokenKind::Ids ? settings_.vocabulary : vocabulary_.size()) : 0;
  facts_.classes = labels_.size();
  facts_.side = sides_.stored();
  const int64_t known_labels = labels_.size();
  if (settings_.set_steps()) facts_.width = known_labels;
  if (settings_.several_labels() && known_labels == 0)
    return Status::Data(fmt::format("{}: not one label in all of it", request_.files[0]), "look at data.label and data.text");

  PLIMSOLL_RETURN_IF_ERROR(EachSample(/*counting=*/false, [&](const TextSample& sample) { return StoreSample(sample); }));
  if (series) PLIMSOLL_RETURN_IF_ERROR(EndSeries());
  if (facts_.samples == 0 && facts_.layout != StoreLayout::Stream)
    return Status::Data(fmt::format("{}: has no samples; {} bad lines were passed over", request_.files[0], bad_.count()));
  if (facts_.layout == StoreLayout::Stream) {
    if (facts_.row_steps < 2) return Status::Data(fmt::format("{}: has fewer than two tokens", request_.files[0]));
    facts_.samples = 1;
    facts_.longest = std::min<int64_t>(facts_.row_steps, INT32_MAX);
  }
  facts_.new_labels = given_ ? labels_.size() - known_labels : 0;
  if (facts_.target_classes) facts_.classes = settings_.task == Task::Lm ? facts_.vocabulary : labels_.size();
  if (settings_.several_labels()) facts_.target_width = labels_.size();
  if (settings_.several_labels() && facts_.target_width * 4 > 65536)
    return Status::Data(
        fmt::format("{}: {} different labels, and a sample can have at most 16384", request_.files[0], facts_.target_width));
  if (!facts_.ids && facts_.width + sides_.width() == 0)
    return Status::Data(fmt::format("{}: its categories and dates are the same in all rows: no features", request_.files[0]),
                        "name columns of numbers with data.inputs");
  if (facts_.unseen > 0)
    facts_.notes.push_back(fmt::format(
        "warning: {} rows have a value in data.categories that training does not have; its features are all zeros there. The "
        "first: {}",
        facts_.unseen, first_unseen_));
  if (unseen_labels_ > 0)
    facts_.notes.push_back(fmt::format("warning: {} times a label is left out that training does not have. The first: {}",
                                       unseen_labels_, first_unseen_));
  facts_.bad = bad_.count();
  facts_.bad_lines = bad_.first();
  if (!facts_.target_classes) facts_.classes = 0;
  // A file of nothing is dropped with its writer.
  for (FileWriter* file : {inputs_, lengths_, targets_, runs_}) {
    if (file->written() > 0) PLIMSOLL_RETURN_IF_ERROR(file->Commit());
  }
  return Finish(folder);
}

Status Ingestion::Finish(const std::string& folder) {
  if (vocabulary_.size() > 0)
    PLIMSOLL_RETURN_IF_ERROR(WriteTextFile(fmt::format("{}/{}", folder, kVocabularyFile), vocabulary_.AsText()));
  if (labels_.size() > 0) PLIMSOLL_RETURN_IF_ERROR(WriteTextFile(fmt::format("{}/{}", folder, kLabelsFile), LinesOf(labels_)));
  if (settings_.has_sides())
    PLIMSOLL_RETURN_IF_ERROR(WriteTextFile(fmt::format("{}/{}", folder, kFeaturesFile), sides_.AsText()));
  if (facts_.layout == StoreLayout::Series) PLIMSOLL_RETURN_IF_ERROR(WriteScale(folder));
  return WriteTextFile(folder + kStoreFactsFile, FactsAsJson(facts_));
}

Status Ingestion::StoreSample(const TextSample& sample) {
  if (facts_.layout == StoreLayout::Series) return StoreRow(sample);
  if (makes_pieces() && facts_.ids) {
    pieces_.clear();
    for (const std::string_view word : sample.tokens) encoder_->Encode(word, pieces_);
  }
  int64_t steps = makes_pieces() && facts_.ids ? static_cast<int64_t>(pieces_.size()) : sample.steps();
  const bool cut = settings_.max_length > 0 && steps > settings_.max_length && facts_.layout != StoreLayout::Stream;
  if (cut) steps = settings_.max_length;
  if (steps >= INT32_MAX) return Bad(sample, "is longer than 2147483646 steps");
  if (facts_.ids) {
    PLIMSOLL_RETURN_IF_ERROR(StoreTokens(sample, steps));
    if (!stored_) return Status::Ok();
    if (facts_.layout == StoreLayout::Stream) return Status::Ok();
  } else if (!settings_.set_steps()) {
    if (facts_.samples == 0) facts_.width = sample.width;
    if (sample.width != facts_.width)
      return Bad(sample, fmt::format("has {} values a step, those before have {}", sample.width, facts_.width));
  }
  PLIMSOLL_RETURN_IF_ERROR(StoreLabels(sample, steps));
  if (!stored_) return Status::Ok();
  if (settings_.set_steps()) {
    PLIMSOLL_RETURN_IF_ERROR(WriteSets(*inputs_, sample, 0, steps));
  } else if (!facts_.ids) {
    EncodeSides(sample);
    floats_.clear();
    for (int64_t step = 0; step < steps; ++step) {
      const auto values = sample.values.begin() + step * sample.width;
      floats_.insert(floats_.end(), values, values + sample.width);
      floats_.insert(floats_.end(), side_numbers_.begin(), side_numbers_.end());
    }
    PLIMSOLL_RETURN_IF_ERROR(WriteValues<float>(*inputs_, floats_));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(WriteValues<unsigned char>(*inputs_, packed_));
  }
  if (facts_.layout == StoreLayout::Documents) ++steps;  // the step that gives the end
  const auto length = static_cast<int32_t>(steps);
  PLIMSOLL_RETURN_IF_ERROR(WriteValues<int32_t>(*lengths_, std::span(&length, 1)));
  ++facts_.samples;
  facts_.cut += cut ? 1 : 0;
  facts_.row_steps += steps;
  facts_.longest = std::max(facts_.longest, steps);
  return Status::Ok();
}

// Ids into packed_; of one long text into its file at once.
Status Ingestion::StoreTokens(const TextSample& sample, int64_t steps) {
  stored_ = false;
  ids_.clear();
  ids_.reserve(static_cast<size_t>(steps) + 2);
  int64_t unknown = 0;
  if (has_ends()) ids_.push_back(static_cast<int32_t>(vocabulary_.special(Vocabulary::Begin)));
  if (makes_pieces()) ids_.insert(ids_.end(), pieces_.begin(), pieces_.begin() + steps);
  for (int64_t i = 0; i < steps && !makes_pieces(); ++i) {
    const std::string_view token = TokenOf(sample, static_cast<size_t>(i));
    std::string problem;
    const int64_t id = IdOf(token, settings_, vocabulary_, problem);
    if (id < 0) return Bad(sample, problem);
    if (settings_.tokens == TokenKind::Ids) {
      facts_.vocabulary = std::max(facts_.vocabulary, id + 1);
    } else {
      unknown += id == vocabulary_.special(Vocabulary::Unknown);
    }
    ids_.push_back(static_cast<int32_t>(id));
  }
  if (has_ends()) ids_.push_back(static_cast<int32_t>(vocabulary_.special(Vocabulary::End)));
  packed_.clear();
  packed_.reserve(ids_.size() * static_cast<size_t>(facts_.id_bytes));
  for (const int32_t id : ids_) {
    for (int64_t byte = 0; byte < facts_.id_bytes; ++byte) packed_.push_back(static_cast<unsigned char>(id >> (8 * byte)));
  }
  facts_.unknown += unknown;
  stored_ = true;
  if (facts_.layout != StoreLayout::Stream) return Status::Ok();
  facts_.row_steps += static_cast<int64_t>(ids_.size());
  return WriteValues<unsigned char>(*inputs_, packed_);
}

Status Ingestion::StoreLabels(const TextSample& sample, int64_t steps) {
  stored_ = false;
  if (settings_.task == Task::Regress) {
    const auto width = static_cast<int64_t>(sample.targets.size());
    if (facts_.samples == 0) facts_.target_width = width;
    if (width != facts_.target_width || width == 0)
      return Bad(sample, fmt::format("has {} values as target, those before have {}", width, facts_.target_width));
    stored_ = true;
    const std::vector<float> values(sample.targets.begin(), sample.targets.end());
    return WriteValues<float>(*targets_, values);
  }
  if (!has_labels()) {
    stored_ = true;
    return Status::Ok();
  }
  ids_.clear();
  for (const std::string_view label : sample.labels) {
    int64_t number = labels_.Find(label);
    if (number < 0) {
      PLIMSOLL_CHECK(given_, "labels were counted before they are stored");
      if (!request_.new_labels)
        return Bad(sample, fmt::format("the label \"{}\" is none of those that the model knows", label));
      if (settings_.several_labels()) {  // which are as many as training has
        if (unseen_labels_++ == 0) first_unseen_ = fmt::format("{}:{}: \"{}\"", *path_, sample.line, label.substr(0, 40));
      } else {
        number = labels_.Add(label);
      }
    }
    ids_.push_back(static_cast<int32_t>(number));
  }
  stored_ = true;
  if (!settings_.several_labels()) {
    if (settings_.task == Task::Tag) ids_.resize(static_cast<size_t>(steps));
    return WriteValues<int32_t>(*targets_, ids_);
  }
  if (!settings_.set_labels()) return WriteSet(*targets_, ids_);
  const int64_t first = settings_.set_steps() ? 1 : 0;  // a step foretells the next one
  return WriteSets(*targets_, sample, first, first + steps);
}

// A one for each label, zeros elsewhere; labels that training does not have are left out.
Status Ingestion::WriteSet(FileWriter& file, std::span<const int32_t> numbers) {
  floats_.assign(static_cast<size_t>(labels_.size()), 0.0f);
  for (const int32_t number : numbers) {
    if (number >= 0) floats_[static_cast<size_t>(number)] = 1.0f;
  }
  return WriteValues<float>(file, floats_);
}

// Steps [first, end), whose labels have the numbers in ids_.
Status Ingestion::WriteSets(FileWriter& file, const TextSample& sample, int64_t first, int64_t end) {
  size_t label = 0;
  for (int64_t step = 0; step < end; ++step) {
    const size_t count = sample.sets[static_cast<size_t>(step)];
    if (step >= first) PLIMSOLL_RETURN_IF_ERROR(WriteSet(file, std::span(ids_).subspan(label, count)));
    label += count;
  }
  return Status::Ok();
}

void Ingestion::EncodeSides(const TextSample& sample) {
  side_numbers_.clear();
  const int64_t unknown = sides_.Encode(sample.categories, sample.dates, side_numbers_);
  if (unknown < 0) return;
  if (facts_.unseen++ == 0) {
    const auto column = static_cast<size_t>(unknown);
    first_unseen_ = fmt::format("{}:{}: '{}' is \"{}\"", *path_, sample.line, settings_.sides.categories[column],
                                sample.categories[column].substr(0, 40));
  }
}

Status Ingestion::StoreRow(const TextSample& sample) {
  facts_.width = static_cast<int64_t>(settings_.inputs.size());
  facts_.target_width = static_cast<int64_t>(settings_.label.size());
  if (sample.values.size() != settings_.inputs.size() || sample.targets.size() != settings_.label.size())
    return Bad(sample, "has a list; wanted one number of each column");
  if (facts_.row_steps == 0 || sample.series != series_) {
    PLIMSOLL_RETURN_IF_ERROR(EndSeries());
    if (seen_series_.Find(sample.series) >= 0)
      return Status::Data(fmt::format("{}:{}: the series \"{}\" comes again, behind another one", *path_, sample.line,
                                      sample.series.substr(0, 40)),
                          "sort the file, so that the rows of a series stand together in the order of time");
    seen_series_.Add(sample.series);
    series_ = sample.series;
    series_first_ = facts_.row_steps;
  }
  const bool known = std::none_of(sample.targets.begin(), sample.targets.end(), [](double v) { return std::isnan(v); });
  if (known && run_first_ < 0) run_first_ = facts_.row_steps;
  if (!known && run_first_ >= 0) {
    open_runs_.push_back({.first = run_first_, .end = facts_.row_steps, .series_first = series_first_});
    run_first_ = -1;
  }
  EncodeSides(sample);
  PLIMSOLL_RETURN_IF_ERROR(WriteValues<double>(*inputs_, sample.values));
  PLIMSOLL_RETURN_IF_ERROR(WriteValues<double>(*inputs_, side_numbers_));
  PLIMSOLL_RETURN_IF_ERROR(WriteValues<double>(*inputs_, sample.targets));
  ++facts_.row_steps;
  return Status::Ok();
}

Status Ingestion::EndSeries() {
  const int64_t rows = facts_.row_steps - series_first_;
  if (rows == 0) return Status::Ok();
  if (rows > INT32_MAX) return Status::Data(fmt::format("{}: a series of more than 2147483647 rows", *path_));
  if (run_first_ >= 0) open_runs_.push_back({.first = run_first_, .end = facts_.row_steps, .series_first = series_first_});
  run_first_ = -1;
  for (KnownRun& run : open_runs_) run.series_end = facts_.row_steps;
  facts_.runs += static_cast<int64_t>(open_runs_.size());
  PLIMSOLL_RETURN_IF_ERROR(WriteValues<KnownRun>(*runs_, open_runs_));
  open_runs_.clear();
  const auto length = static_cast<int32_t>(rows);
  PLIMSOLL_RETURN_IF_ERROR(WriteValues<int32_t>(*lengths_, std::span(&length, 1)));
  ++facts_.samples;
  facts_.longest = std::max(facts_.longest, rows);
  series_first_ = facts_.row_steps;
  return Status::Ok();
}

// Means and deviations over the training part of every series, from what was stored.
Status Ingestion::WriteScale(const std::string& folder) {
  if (!request_.dictionary.empty()) {
    Result<std::vector<ColumnScale>> scale = ReadScale(request_.dictionary);
    if (!scale.ok()) return scale.status();
    return WriteTextFile(folder + kScaleFile, ScaleAsText(*scale));
  }
  Result<File> rows = File::OpenRead(folder + "/inputs.bin");
  if (!rows.ok()) return rows.status();
  Result<File> lengths = File::OpenRead(folder + "/lengths.bin");
  if (!lengths.ok()) return lengths.status();
  const int64_t scaled = facts_.width + facts_.target_width, columns = scaled + facts_.side;
  struct Sums {
    int64_t known = 0, missing = 0;
    double mean = 0.0, squares = 0.0;
  };
  std::vector<Sums> sums(static_cast<size_t>(columns));
  const int64_t at_once = std::max<int64_t>(1, 64 * kKiB / (columns * 8));
  std::vector<double> piece(static_cast<size_t>(at_once * columns));
  int64_t first = 0;
  for (int64_t series = 0; series < facts_.samples; ++series) {
    int32_t length = 0;
    PLIMSOLL_RETURN_IF_ERROR(lengths->ReadAt(series * 4, 4, &length));
    const int64_t end = first + SeriesBorder(length, settings_.valid_share);
    for (int64_t row = first; row < end; row += at_once) {
      const int64_t now = std::min(at_once, end - row);
      PLIMSOLL_RETURN_IF_ERROR(rows->ReadAt(row * columns * 8, now * columns * 8, piece.data()));
      for (int64_t i = 0; i < now * columns; ++i) {
        Sums& own = sums[static_cast<size_t>(i % columns)];
        const double value = piece[static_cast<size_t>(i)];
        if (std::isnan(value)) {
          ++own.missing;
          continue;
        }
        const double off = value - own.mean;  // Welford's: no difference of large numbers
        own.mean += off / static_cast<double>(++own.known);
        own.squares += off * (value - own.mean);
      }
    }
    first += length;
  }
  std::vector<ColumnScale> scale;
  for (int64_t i = 0; i < scaled; ++i) {
    const Sums& own = sums[static_cast<size_t>(i < facts_.width ? i : i + facts_.side)];
    const double deviation = own.known > 1 ? std::sqrt(own.squares / static_cast<double>(own.known)) : 0.0;
    const bool target = i >= facts_.width;
    const auto name = static_cast<size_t>(target ? i - facts_.width : i);
    scale.push_back({.target = target,
                     .name = target ? settings_.label[name] : settings_.inputs[name],
                     .mean = own.mean,
                     .deviation = deviation > 0.0 ? deviation : 1.0,
                     .missing = !target && own.missing > 0});
  }
  return WriteTextFile(folder + kScaleFile, ScaleAsText(scale));
}

// What the dictionary holds, as a number: with another one the ids are others.
Result<uint64_t> DictionaryFingerprint(const std::string& folder) {
  Digest all;
  for (const std::string_view name : kDictionaryFiles) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (!Exists(path)) continue;
    const Result<File> file = File::OpenRead(path);
    if (!file.ok()) return file.status();
    all.Add(fmt::format("{} {}\n", name, file.value().size()));
    PLIMSOLL_RETURN_IF_ERROR(all.Add(file.value()));
  }
  return all.value();
}

}  // namespace

int64_t CounterBytes(int64_t vocabulary) { return std::clamp<int64_t>(vocabulary, 32 * kKiB, 2 * kMiB) * 128; }

Result<IngestedStore> Ingest(const IngestRequest& request) {
  IngestRequest own = request;
  std::string settings = own.settings.AsText();
  if (!own.dictionary.empty()) {
    const Result<uint64_t> fingerprint = DictionaryFingerprint(own.dictionary);
    if (!fingerprint.ok()) return fingerprint.status();
    settings += fmt::format(" dictionary={:016x} new_labels={}", fingerprint.value(), own.new_labels);
  }
  const Result<std::string> cache = CacheFolder(own.cache);
  if (!cache.ok()) return cache.status();
  const std::string folder = StoreFolder(cache.value(), own.files, settings);
  Result<std::optional<StoreFacts>> found = FindStore(folder, own.files, settings);
  if (!found.ok()) return found.status();
  if (found->has_value()) return IngestedStore{.folder = folder, .facts = std::move(**found), .reused = true};

  Result<Tokenizer> tokenizer =
      Tokenizer::Make({.kind = own.settings.tokens, .lower = own.settings.lower, .lines = own.settings.stream});
  if (!tokenizer.ok()) return tokenizer.status();
  return Ingestion(own, settings, std::move(tokenizer).value()).Run(folder);
}

}  // namespace plimsoll
