// store_folder: where Stores lie, which one belongs to a data set, and how a new one takes its place.
//   in:    the cache folder, files and settings
//   out:   a Store that is as its sources are; or a draft to be filled and published
//   never: shows a half-written Store: a draft has another name until it is whole, and is removed where it is given up
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/store.h"
#include "plimsoll/status.h"

namespace plimsoll {

// data.cache, else $XDG_CACHE_HOME/plimsoll, else ~/.cache/plimsoll, else /tmp/plimsoll-UID; made where it is missing.
Result<std::string> CacheFolder(const std::string& wanted);

// The folder of the Store of these files and settings, whether it is there or not. Its name is a hash of both.
std::string StoreFolder(const std::string& cache, const std::vector<std::string>& files, const std::string& settings);

// Whether the Store is there and its sources are what they were: by size and time, or, where only the time differs, by their
// bytes.
Result<std::optional<StoreFacts>> FindStore(const std::string& folder, const std::vector<std::string>& files,
                                            const std::string& settings);

class StoreDraft {
 public:
  static Result<StoreDraft> Create(const std::string& folder);
  StoreDraft(StoreDraft&& other) noexcept;
  StoreDraft& operator=(StoreDraft&&) = delete;
  ~StoreDraft();
  const std::string& path() const { return path_; }
  Status Publish();  // takes the place of what may be there

 private:
  StoreDraft(std::string folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  std::string folder_;
  std::string path_;  // empty: published, or moved from
};

}  // namespace plimsoll
