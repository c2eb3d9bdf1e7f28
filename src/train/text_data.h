// text_data: the data of a job that names text: Stores, made or found, and the samples in them.
//   in:    a job
//   out:   training and validation samples; the folder whose vocabulary, labels and scale belong to them
//   never: takes more than the budget leaves: it runs before the plan, in memory that is given back
#pragma once

#include <memory>
#include <string>

#include "data/samples.h"
#include "data/token_table.h"
#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct TextData {
  std::unique_ptr<Samples> samples;
  std::unique_ptr<Samples> valid;  // null: none, or a share of `samples`
  // Stores whose vocabulary, labels and scale are the model's. Validation may have labels that training has not: its own then.
  std::string dictionary;
  std::string labels;
  bool split = false;  // the validation share is taken already: the ends of series, and not samples here and there
};
Result<TextData> OpenTextData(const Job& job, Observer* observer);

// The names of its classes, by number; empty where it has none.
Result<TokenTable> ReadLabels(const TextData& data);

// Copies what a model needs to read text again (kDictionaryFiles), as far as it is there.
Status CopyDictionary(const TextData& data, const std::string& folder);

}  // namespace plimsoll
