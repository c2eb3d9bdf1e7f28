// unicode_library: what kind of character a code point is, and its small letter: utf8proc's tables, loaded where words are
// asked
//   for and given back with the tokenizer. Linked in, they would take 0.3 MB of every budget.
//   never: is asked about ASCII; the tokenizer knows that by itself
#pragma once

#include <utf8proc.h>

#include <memory>

#include "plimsoll/status.h"

namespace plimsoll {

class UnicodeLibrary {
 public:
  static Result<std::unique_ptr<UnicodeLibrary>> Load();
  ~UnicodeLibrary();
  UnicodeLibrary(const UnicodeLibrary&) = delete;
  UnicodeLibrary& operator=(const UnicodeLibrary&) = delete;

  decltype(&utf8proc_category) category = nullptr;
  decltype(&utf8proc_tolower) to_lower = nullptr;

 private:
  explicit UnicodeLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace plimsoll
