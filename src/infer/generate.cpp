// generate: text from a language model, one step at a time, inside the same kind of budget. The data of the model's job are not
//   needed: a model folder holds all that text takes.
#include "plimsoll/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/file.h"
#include "base/machine.h"
#include "data/bpe_encoder.h"
#include "data/tokenizer.h"
#include "data/utf8.h"
#include "data/vocabulary.h"
#include "infer/token_sampler.h"
#include "infer/token_text.h"
#include "train/model_folder.h"
#include "train/setup.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostPromptBytes = kMiB;
constexpr size_t kMostStopBytes = 4096;
constexpr int64_t kMostTokens = int64_t{1} << 40, kMostTexts = 1'000'000;
constexpr int64_t kReportTokens = 256;  // seldom enough that measuring memory costs nothing

using Clock = std::chrono::steady_clock;

Status CheckRequest(const GenerateRequest& request) {
  PLIMSOLL_CHECK(request.sink != nullptr, "text goes somewhere");
  if (request.tokens < 1 || request.tokens > kMostTokens)
    return Status::Usage(fmt::format("tokens: wanted a whole number from 1 to {}, got {}", kMostTokens, request.tokens));
  if (request.count < 1 || request.count > kMostTexts)
    return Status::Usage(fmt::format("count: wanted a whole number from 1 to {}, got {}", kMostTexts, request.count));
  if (!(request.temperature >= 0.0 && request.temperature <= 100.0))
    return Status::Usage(fmt::format("temperature: wanted a number from 0 to 100, got {}", request.temperature),
                         "0 takes the most probable token, 1 draws as the model has it");
  if (request.top_k < 0)
    return Status::Usage(fmt::format("top_k: wanted a whole number from 1 on, or 0 for all tokens, got {}", request.top_k));
  if (!(request.top_p > 0.0 && request.top_p <= 1.0))
    return Status::Usage(fmt::format("top_p: wanted a share above 0 and up to 1, got {}", request.top_p));
  if (!request.prompt.empty() && !request.prompt_file.empty())
    return Status::Usage("a prompt and a file with a prompt are given", "one of them");
  if (request.stop.size() > kMostStopBytes)
    return Status::Usage(fmt::format("stop: a text of {} bytes, wanted at most {}", request.stop.size(), kMostStopBytes));
  if (FirstBadByte(request.stop) < request.stop.size()) return Status::Usage("stop: is not UTF-8");
  return Status::Ok();
}

// What the plan needs to know of the data: rows of one block. Text is made without ever reading them.
class NoSamples final : public Samples {
 public:
  explicit NoSamples(int64_t vocabulary)
      : shape_{.ids = true, .target_per_step = true, .target_classes = true, .vocabulary = vocabulary, .classes = vocabulary} {}
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return 1; }
  int64_t length(int64_t /*sample*/) const override { return kBlockSteps; }
  Status ReadInputs(int64_t, int64_t, int64_t, void*) override { return Nothing(); }
  Status ReadTargets(int64_t, int64_t, int64_t, void*) override { return Nothing(); }

 private:
  static Status Nothing() { return {StatusKind::Internal, {.message = "text is made without samples", .hint = ""}}; }
  SampleShape shape_;
};

// The ids that a text begins with, before the model has made any: the prompt's, behind \begin where texts have one.
struct Prompt {
  std::string text;
  std::vector<int32_t> ids;
  int64_t unknown = 0;
};

Result<Prompt> ReadPrompt(const GenerateRequest& request, const DataOptions& data, TokenKind kind, const Vocabulary& vocabulary,
                          const std::string& vocabulary_file) {
  Prompt prompt{.text = request.prompt, .ids = {}};
  std::string_view name = "the prompt";
  if (!request.prompt_file.empty()) {
    Result<std::string> read = ReadWholeFile(request.prompt_file, kMostPromptBytes);
    if (!read.ok()) return read.status();
    prompt.text = std::move(read).value();
    name = request.prompt_file;
  }
  if (static_cast<int64_t>(prompt.text.size()) > kMostPromptBytes)
    return Status::Usage(fmt::format("{}: {} bytes, wanted at most {}", name, prompt.text.size(), kMostPromptBytes));
  if (const size_t bad = FirstBadByte(prompt.text); kind != TokenKind::Byte && bad < prompt.text.size())
    return Status::Data(fmt::format("{}: byte {} is not UTF-8", name, bad + 1));
  const bool has_begin = vocabulary.special(Vocabulary::Begin) >= 0;
  if (has_begin) prompt.ids.push_back(static_cast<int32_t>(vocabulary.special(Vocabulary::Begin)));
  // One long text has no beginning; a line is what most often begins somewhere in it.
  std::string_view text = prompt.text;
  if (text.empty() && !has_begin && vocabulary.Find("\n") >= 0) text = "\n";

  Result<Tokenizer> tokenizer = Tokenizer::Make({.kind = kind, .lower = data.lower, .lines = data.window > 0});
  if (!tokenizer.ok()) return tokenizer.status();
  std::vector<std::string_view> tokens;
  tokenizer->Split(text, tokens);
  if (kind == TokenKind::Bpe) {
    Result<BpeEncoder> encoder = BpeEncoder::Make(vocabulary, vocabulary_file);
    if (!encoder.ok()) return encoder.status();
    for (const std::string_view word : tokens) encoder->Encode(word, prompt.ids);
  }
  for (size_t i = 0; i < tokens.size() && kind != TokenKind::Bpe; ++i) {
    const int64_t id = vocabulary.Id(tokens[i]);
    if (id < 0)
      return Status::Data(
          fmt::format("{}: \"{}\" is not in {}, which has no \\unknown", name, tokens[i].substr(0, 40), vocabulary_file));
    prompt.unknown += id == vocabulary.special(Vocabulary::Unknown);
    prompt.ids.push_back(static_cast<int32_t>(id));
  }
  if (prompt.ids.empty())
    return Status::Usage("the model was trained on one long text, which has no beginning to start from", "--prompt TEXT");
  return prompt;
}

// The model's job with nothing of its data.
Job JobOf(Job job, const GenerateRequest& request) {
  DataOptions& data = job.data;
  data.valid_share = 0.0;
  data.valid_file.clear();
  data.valid_more.clear();
  job.init_from.clear();
  job.train.batch_size = 1;
  job.train.batch_tokens = 0;
  job.train.length_window = 0;
  if (!request.memory.empty()) job.memory.budget = request.memory;
  if (request.threads > 0) job.train.threads = request.threads;
  return job;
}

// Makes one text after the other in the memory of an engine. Nothing is allocated from Begin to End of a text.
class Writer {
 public:
  Writer(const GenerateRequest& request, const Prompt& prompt, const Vocabulary& vocabulary, TokenText& text,
         TokenSampler sampler, Engine& engine, int64_t budget_bytes)
      : request_(request),
        prompt_(prompt),
        vocabulary_(vocabulary),
        text_(text),
        sampler_(sampler),
        engine_(engine),
        ids_(static_cast<int32_t*>(engine.batch_buffers().groups[0].inputs)),
        budget_bytes_(budget_bytes) {}

  Status Write(int64_t number) {
    RandomSequence random(SeedFor(request_.seed, RandomUse::Generate), static_cast<uint64_t>(number));
    PLIMSOLL_RETURN_IF_ERROR(request_.sink->Begin(number));
    text_.Start(prompt_.text);
    TextEnd end{.number = number, .tokens = 0, .why = "length"};
    const float* outputs = ReadPromptIds();
    while (true) {
      if (request_.stop_request != nullptr && *request_.stop_request != StatusKind::Ok)
        return Status(*request_.stop_request, {.message = fmt::format("stopped behind {} tokens", tokens_), .hint = ""});
      const int32_t id = sampler_.Draw(outputs, random);
      if (id == TokenSampler::kNone)
        return Status::Diverged("the model gives values that are not finite", "train it again with a smaller learning rate");
      ++end.tokens;
      ++tokens_;
      Report(number, end.tokens);
      if (id == vocabulary_.special(Vocabulary::End)) {
        end.why = "end";
        break;
      }
      const Result<bool> stopped = text_.Add(vocabulary_.token(id));
      if (!stopped.ok()) return stopped.status();
      if (stopped.value()) {
        end.why = "stop";
        return request_.sink->End(end);
      }
      if (end.tokens == request_.tokens) break;
      outputs = Step({&id, 1}, /*begins=*/false);
    }
    const Result<bool> stopped = text_.Finish();
    if (!stopped.ok()) return stopped.status();
    if (stopped.value()) end.why = "stop";
    return request_.sink->End(end);
  }

  int64_t tokens() const { return tokens_; }

 private:
  const float* ReadPromptIds() {
    const float* outputs = nullptr;
    const std::span<const int32_t> all = prompt_.ids;
    for (size_t first = 0; first < all.size(); first += kBlockSteps) {
      outputs = Step(all.subspan(first, std::min<size_t>(kBlockSteps, all.size() - first)), first == 0);
    }
    return outputs;
  }

  const float* Step(std::span<const int32_t> ids, bool begins) {
    constexpr int64_t kSample = 0;
    const auto length = static_cast<int32_t>(ids.size());
    std::copy(ids.begin(), ids.end(), ids_);
    const RowGroup group{.rows = 1, .steps = length, .samples = &kSample, .lengths = &length, .ids = ids_};
    return engine_.step.Advance(group, begins);
  }

  void Report(int64_t number, int64_t made) const {
    if (request_.observer == nullptr || tokens_ % kReportTokens != 0) return;
    request_.observer->Work({.what = "generation",
                             .done = number * request_.tokens + made,
                             .total = request_.count * request_.tokens,
                             .resident_bytes = ResidentBytes(),
                             .budget_bytes = budget_bytes_});
  }

  const GenerateRequest& request_;
  const Prompt& prompt_;
  const Vocabulary& vocabulary_;
  TokenText& text_;
  TokenSampler sampler_;
  Engine& engine_;
  int32_t* ids_;
  int64_t budget_bytes_;
  int64_t tokens_ = 0;
};

}  // namespace

Result<GenerateResult> Generate(const GenerateRequest& request) {
  FlushDenormals flush;
  PLIMSOLL_RETURN_IF_ERROR(CheckRequest(request));
  const Result<std::string> folder = FindModelFolder(request.model);
  if (!folder.ok()) return folder.status();
  Result<Job> read = ReadModelJob(folder.value());
  if (!read.ok()) return read.status();
  const Job job = JobOf(std::move(read).value(), request);
  if (job.task != Task::Lm)
    return Status::Usage(
        fmt::format("{}: is a model of task \"{}\", and text comes from language models", request.model, TaskName(job.task)),
        "train one with --task lm");
  if (!job.data.label_separator.empty())
    return Status::Usage(fmt::format("{}: its steps are sets of labels, which make no text", request.model),
                         "plimsoll evaluate scores it");
  const std::string vocabulary_file = fmt::format("{}/{}", folder.value(), kVocabularyFile);
  std::error_code ignored;
  if (job.data.tokens == TokenKind::Ids || !std::filesystem::exists(vocabulary_file, ignored))
    return Status::Usage(fmt::format("{}: its tokens are numbers without a vocabulary, which make no text", request.model),
                         "train on text, with data.tokens = \"char\", \"byte\", \"word\" or \"bpe\"");
  const TokenKind kind = job.data.tokens == TokenKind::Auto ? TokenKind::Char : job.data.tokens;
  const Result<Vocabulary> vocabulary = Vocabulary::Read(vocabulary_file);
  if (!vocabulary.ok()) return vocabulary.status();
  const Vocabulary& tokens = vocabulary.value();
  const Result<Prompt> prompt = ReadPrompt(request, job.data, kind, tokens, vocabulary_file);
  if (!prompt.ok()) return prompt.status();
  if (prompt.value().unknown > 0 && request.observer != nullptr)
    request.observer->Message(fmt::format("warning: {} of the {} tokens of the prompt are unknown to the model",
                                          prompt.value().unknown, prompt.value().ids.size()));
  size_t longest = 0;
  for (int64_t id = 0; id < tokens.size(); ++id) longest = std::max(longest, tokens.token(id).size());
  TokenText text(kind, request.stop, longest, *request.sink);

  Result<std::unique_ptr<Setup>> setup =
      SetUpWith(job, std::make_unique<NoSamples>(tokens.size()), nullptr,
                {.training = false,
                 .observer = request.observer,
                 .candidates_bytes = tokens.size() * static_cast<int64_t>(sizeof(Candidate))});
  if (!setup.ok()) return setup.status();
  Setup& ready = **setup;
  const Spec& spec = ready.network->spec();
  if (spec.reversed || spec.outputs.size() != 1 || !spec.output().class_targets() || ready.network->is_own_loss() ||
      ready.network->head_rows() || spec.output().width != tokens.size())
    return Status::Usage(fmt::format("{}: its last layer does not give the next token at every step", request.model),
                         "wanted a Dense as wide as the vocabulary, and no go_backwards");
  Result<std::unique_ptr<Engine>> engine = Open(ready);
  if (!engine.ok()) return engine.status();
  PLIMSOLL_RETURN_IF_ERROR(ReadWeights(folder.value(), ready, **engine));
  (*engine)->step.PrepareWeights();

  auto* candidates = reinterpret_cast<Candidate*>((*engine)->memory.owner(NetworkOwner::Files).Bytes(TokenCandidates));
  const TokenSampler sampler({.temperature = request.temperature,
                              .top_k = request.top_k,
                              .top_p = request.top_p,
                              .never = {tokens.special(Vocabulary::Unknown), tokens.special(Vocabulary::Begin)}},
                             {candidates, static_cast<size_t>(tokens.size())});
  Writer writer(request, prompt.value(), tokens, text, sampler, **engine, ready.plan.budget_bytes);
  const Clock::time_point start = Clock::now();
  for (int64_t number = 0; number < request.count; ++number) PLIMSOLL_RETURN_IF_ERROR(writer.Write(number));
  return GenerateResult{.tokens = writer.tokens(),
                        .seconds = std::chrono::duration<double>(Clock::now() - start).count(),
                        .unknown = prompt.value().unknown,
                        .plan = ready.plan,
                        .peak_bytes = PeakResidentBytes()};
}

}  // namespace plimsoll
