// predict: what a trained model says of new data: a line for each sample, in the order of the data, inside a budget.
//   Text is streamed: it may be larger than memory, and come from stdin. Vocabulary, labels and scale are the model's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/plan.h"
#include "plimsoll/status.h"

namespace plimsoll {

enum class PredictFormat { Jsonl, Tsv };
struct PredictRequest {
  std::string model;                            // run folder or model folder
  std::string data_file;                        // of the kind that the model was trained on; "-": text from stdin
  std::string lengths = {};                     // beside a .npy data file
  std::string initial_state = {};               // the same
  DataFormat input_format = DataFormat::Auto;   // of text; auto: as the file shows, of stdin plain lines
  PredictFormat format = PredictFormat::Jsonl;  // of the answer
  int64_t top = 1;                              // classes that are told with their probabilities
  int64_t skip_bad = 0;                         // bad lines that are passed over; each has a line of its own in the answer
  std::string memory = {};                      // empty: the job's own
  int64_t threads = 0;                          // 0: the job's own
  std::vector<CustomOptions> custom_layers = {};
};
struct PredictResult {
  int64_t samples = 0;
  int64_t bad = 0;
  std::vector<std::string> bad_lines = {};  // the first of them
  int64_t unseen = 0;                       // rows with a category that training does not have
  std::string first_unseen = {};            // file, line, column and value
  Plan plan;
  int64_t peak_bytes = 0;
};
// `write` gets whole lines, some at a time; what it fails with ends the prediction.
using PredictWriter = std::function<Status(std::string_view lines)>;
Result<PredictResult> Predict(const PredictRequest& request, const PredictWriter& write);

}  // namespace plimsoll
