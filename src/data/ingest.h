// ingest: turns text into a Store, in bounded memory.
//   in:    files, the job's [data] and task, a dictionary where ids must be those of another data set
//   out:   the folder of the Store: the one that is there already, or a new one
//   never: holds a file, or more than one record of it; leaves something half-written behind
// A first pass counts tokens and labels, where the data must make their own dictionary; a second one stores. Where a dictionary
// is given, or ids follow without one (bytes, ids, values), there is one pass alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/sample_reader.h"
#include "data/scale.h"
#include "data/side_columns.h"
#include "data/store.h"
#include "data/vocabulary.h"
#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr int64_t kWordsKept = 20000;  // of a vocabulary whose size the job leaves open
inline constexpr int64_t kPiecesKept = 8000;  // the same of byte-pair encoding
inline constexpr int64_t kMostClasses = 65536;
// What a model's numbers mean: each is there where its data have it.
inline constexpr std::string_view kDictionaryFiles[] = {kVocabularyFile, kLabelsFile, kScaleFile + 1, kFeaturesFile};
// What counting tokens may take: it follows from the job alone, so that the vocabulary does. Learning pieces of byte-pair
// encoding takes twice that.
int64_t CounterBytes(int64_t vocabulary);

struct IngestRequest {
  std::vector<std::string> files;  // absolute
  TextSettings settings;
  std::string cache;       // folder of Stores
  std::string dictionary;  // a folder with such files, as a model or a Store has; empty: none
  // With a dictionary: a label that it does not have becomes a class behind the others; else its line is bad.
  bool new_labels = true;
  int64_t room_bytes = INT64_MAX;  // what counting tokens may really take; more is OverBudget, with that as min_bytes
  Observer* observer = nullptr;    // not owned
};

struct IngestedStore {
  std::string folder;
  StoreFacts facts;
  bool reused = false;
};
Result<IngestedStore> Ingest(const IngestRequest& request);

}  // namespace plimsoll
