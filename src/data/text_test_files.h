// text_test_files: compressed text made by hand, and Stores made of text, for tests.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>
#include <vector>

#include "data/ingest.h"
#include "data/npy_test_files.h"

namespace plimsoll {

inline std::string Gzipped(std::string_view text) { return Deflate(text, 16 + MAX_WBITS); }

inline std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// Two messages, as `zstd` writes them; and the first of them with a window of 128 MiB (--long=27).
inline constexpr std::string_view kTwoMessages = "ham\thello world\nspam\twin win win win win win win win\n";
inline const std::string kZstdMessages =
    FromHex("28b52ffd0458050100d068616d0968656c6c6f20776f726c640a7370616d0977696e200a01001dba318582e0a0");
inline const std::string kZstdLongWindow = FromHex("28b52ffd048881000068616d0968656c6c6f20776f726c640ac92674a9");

// Turns text into a Store inside the test's folder.
inline Result<IngestedStore> Stored(const TestFolder& folder, std::vector<std::string> files, const DataOptions& data,
                                    Task task, const std::string& dictionary = "", bool new_labels = true) {
  Result<TextSettings> settings = SettingsOf(data, task, files[0]);
  if (!settings.ok()) return settings.status();
  return Ingest({.files = std::move(files),
                 .settings = std::move(settings).value(),
                 .cache = folder.path() + "/cache",
                 .dictionary = dictionary,
                 .new_labels = new_labels});
}

}  // namespace plimsoll
