// json_reader: some values of a JSON object, out of one line.
//   in:    the keys that are wanted, a line; a key may be wanted more than once
//   out:   a field for each key, as text; or what is wrong with the line, with its column
//   never: builds a tree: what nobody asked for is walked over; goes deeper than 64 levels
// A small reader of our own: simdjson would bring more code into every budget than all other readers of data together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

struct Record;

class JsonReader {
 public:
  // uneven: the inner lists of a list of lists may have any number of items, none included.
  explicit JsonReader(std::vector<std::string> keys, bool uneven = false) : keys_(std::move(keys)), uneven_(uneven) {}

  // Fills the fields and items of the record. Returns what is wrong, "COLUMN: ..." ; empty: nothing.
  std::string Read(std::string_view line, Record& record);

  class Line;  // how one line is walked over

 private:
  std::vector<std::string> keys_;
  std::vector<bool> seen_;
  bool uneven_;
  std::string bytes_;  // texts of the line without their escapes; no longer than the line
};

// The keys of the object in a line; nothing where it is none.
std::vector<std::string> JsonKeys(std::string_view line);

}  // namespace plimsoll
