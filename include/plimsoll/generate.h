// generate: text from a trained language model, token by token.
//   The model reads the prompt, then each token that it gives is its next input. State is carried along, so memory is the same
//   for any length. The same request gives the same text at any budget and on any number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plimsoll/observer.h"
#include "plimsoll/plan.h"
#include "plimsoll/status.h"
#include "plimsoll/trainer.h"

namespace plimsoll {

struct TextEnd {
  int64_t number = 0;    // of the text, from 0
  int64_t tokens = 0;    // that were made
  std::string_view why;  // "length"; "stop": the stop text came; "end": the model ended the text
};

// Where text goes. What fails here ends the generation with that Status.
class TextSink {
 public:
  virtual ~TextSink() = default;
  virtual Status Begin(int64_t /*number*/) { return Status::Ok(); }
  virtual Status Text(std::string_view text) = 0;  // whole characters of UTF-8, as they come
  virtual Status End(const TextEnd&) { return Status::Ok(); }
};

struct GenerateRequest {
  std::string model;             // run folder or model folder
  std::string prompt = {};       // UTF-8; for a model of bytes anything. What is made follows it and does not repeat it
  std::string prompt_file = {};  // instead of `prompt`: at most 1 MiB, taken as it is
  int64_t tokens = 256;          // most of a text
  double temperature = 1.0;      // below 1: what is probable becomes more so; 0: always the most probable token
  int64_t top_k = 0;             // only so many of the most probable tokens are drawn from; 0: all
  double top_p = 1.0;            // only the most probable tokens that have together this probability; 1: all
  uint64_t seed = 1;
  std::string stop = {};                      // a text ends before this; empty: there is none
  int64_t count = 1;                          // of texts, each with draws of its own
  std::string memory = {};                    // empty: the job's own
  int64_t threads = 0;                        // 0: the job's own
  TextSink* sink = nullptr;                   // not owned; wanted
  Observer* observer = nullptr;               // not owned
  const StopRequest* stop_request = nullptr;  // not owned
};
struct GenerateResult {
  int64_t tokens = 0;  // of all texts
  double seconds = 0.0;
  int64_t unknown = 0;  // tokens of the prompt that the model does not know
  Plan plan;
  int64_t peak_bytes = 0;
};
Result<GenerateResult> Generate(const GenerateRequest& request);

}  // namespace plimsoll
