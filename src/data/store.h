// store: a data set on disk as training reads it: a folder that appears whole or not at all, and is used again while its
//   sources and settings are the same.
//   in:    what was read from text (ingest.h)
//   out:   Samples that read by pread without allocating
//   never: changes once it is there; is trusted where its sizes do not fit each other
//
//   store.json       the facts below
//   inputs.bin       ids (1, 2 or 4 bytes), or features (float32; series: float64), packed
//   lengths.bin      int32: steps of each sample; of series: rows of each
//   targets.bin      class numbers (4 bytes) or values (float32), packed; not where the targets are the inputs themselves
//   runs.bin         series: rows whose targets are all known
//   vocabulary.txt, labels.txt, scale.txt, features.txt   what the numbers mean (docs/formats.md)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/samples.h"
#include "plimsoll/status.h"

namespace plimsoll {

enum class StoreLayout {
  Rows,       // samples with a target each, or one a step
  Documents,  // texts: the target of a step is the next token; a sample has one token more than steps
  Stream,     // one long text, cut into pieces when it is read
  Series,     // rows of series, of which samples are windows
};

struct StoredSource {
  std::string path;
  int64_t bytes = 0;
  int64_t changed_ns = 0;
  uint64_t fingerprint = 0;  // of its bytes
};

struct StoreFacts {
  StoreLayout layout = StoreLayout::Rows;
  int64_t samples = 0;  // series: of them
  int64_t row_steps = 0;
  int64_t longest = 0;
  bool ids = true;
  int64_t id_bytes = 4;  // 1, 2 or 4
  int64_t width = 1;     // features a step, without those of categories and dates
  int64_t side = 0;      // numbers a step that categories and dates have in inputs.bin, behind the features
  int64_t unseen = 0;    // rows with a category that training does not have
  int64_t vocabulary = 0;
  bool target_per_step = false;
  bool target_classes = true;
  int64_t target_width = 1;
  int64_t classes = 0;
  int64_t unknown = 0;                      // tokens that the vocabulary does not have
  int64_t cut = 0;                          // samples that were longer than max_length
  int64_t bad = 0;                          // lines passed over
  int64_t lines = 0;                        // records read
  int64_t new_labels = 0;                   // labels that the dictionary did not have
  int64_t runs = 0;                         // series
  std::vector<std::string> bad_lines = {};  // the first of them
  std::vector<std::string> notes = {};      // what the user should know
  std::vector<StoredSource> sources = {};
  std::string settings;  // what decided the rest
};

inline constexpr const char* kStoreFactsFile = "/store.json";
std::string FactsAsJson(const StoreFacts& facts);
// Nothing where the folder holds no Store of this version.
Result<StoreFacts> ReadFacts(const std::string& folder);

// How samples are taken out of a Store.
struct StoreView {
  int64_t window = 0;      // Stream: steps of a piece. Series: steps seen
  int64_t carried_by = 0;  // Stream: rows of a batch that each go on in the next one; 0: pieces stand alone
  int64_t horizon = 1;     // Series
  int64_t stride = 1;
  // Series: which part of each one, by a share at its end that is kept for validation.
  enum class Part { All, Train, Valid } part = Part::All;
  double valid_share = 0.0;
  std::string scale_folder;  // Series: where scale.txt is; empty: the Store's own
};
Result<std::unique_ptr<Samples>> OpenStore(const std::string& folder, const StoreView& view);

}  // namespace plimsoll
