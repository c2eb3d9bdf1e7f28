#include "data/unicode_library.h"

#include <dlfcn.h>

namespace plimsoll {

Result<std::unique_ptr<UnicodeLibrary>> UnicodeLibrary::Load() {
  void* handle = ::dlopen("libutf8proc.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return Status::Data("libutf8proc.so.2 is not on this machine, and words need it",
                        "install the Debian package libutf8proc2, or set data.tokens = \"char\"");
  std::unique_ptr<UnicodeLibrary> library(new UnicodeLibrary(handle));
  library->category = reinterpret_cast<decltype(&utf8proc_category)>(::dlsym(handle, "utf8proc_category"));
  library->to_lower = reinterpret_cast<decltype(&utf8proc_tolower)>(::dlsym(handle, "utf8proc_tolower"));
  if (library->category == nullptr || library->to_lower == nullptr)
    return Status::Data("libutf8proc.so.2 lacks the tables of characters", "install version 2.0 or later");
  return library;
}

UnicodeLibrary::~UnicodeLibrary() { ::dlclose(handle_); }

}  // namespace plimsoll
