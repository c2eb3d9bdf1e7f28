// resize_desk: where a running job is told of a new budget: two small files in its run folder.
//   resize.request   "ID AMOUNT", written by whoever asks, removed when it is taken up
//   resize.answer    the same ID and what became of it
//   A lock on the file `lock` says that the job runs.
//   never: allocates while nobody asks
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"
#include "plimsoll/trainer.h"

namespace plimsoll {

class ResizeDesk {
 public:
  // Nobody can ask where the run has no folder.
  static Result<ResizeDesk> Open(const std::string& run_folder);

  struct Request {
    std::string id;
    std::string memory;
  };
  std::optional<Request> Poll();
  Status Answer(const std::string& id, const ResizeAnswer& answer);

 private:
  ResizeDesk(Descriptor lock, const std::string& folder);
  Descriptor lock_;
  std::string request_;
  std::string answer_;
};

}  // namespace plimsoll
