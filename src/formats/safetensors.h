// safetensors: our native model file. u64 header length, little-endian | JSON header | tensor bytes, little-endian.
//   JSON: name -> {"dtype", "shape", "data_offsets"}, offsets from the first byte behind the header; "__metadata__" of strings.
//   Reading validates everything before anything is allocated by it: ranges lie inside the file, cover it without holes and
//   do not overlap. Only F32 tensors are ours.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct SafetensorsEntry {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;  // in the file
  int64_t bytes = 0;
};

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> Open(const std::string& path);
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry* Find(const std::string& name) const;  // null: not there
  const File& file() const { return file_; }
  // Floats [first, first + count) of an entry.
  Status Read(const SafetensorsEntry& entry, int64_t first, int64_t count, float* out) const;

 private:
  SafetensorsFile(File file, std::vector<SafetensorsEntry> entries) : file_(std::move(file)), entries_(std::move(entries)) {}
  File file_;
  std::vector<SafetensorsEntry> entries_;
};

// Writes F32 tensors. `fill` provides floats [first, first + count) of a tensor; `buffer` holds them on their way and is cut in
// two: half for the values, half for the file.
struct SafetensorsTensor {
  std::string name;
  std::vector<int64_t> shape;
};
using TensorFill = std::function<void(size_t tensor, int64_t first, int64_t count, float* out)>;
Status WriteSafetensors(const std::string& path, const std::vector<SafetensorsTensor>& tensors,
                        const std::vector<std::pair<std::string, std::string>>& metadata, std::span<std::byte> buffer,
                        const TensorFill& fill);

}  // namespace plimsoll
