// npy: the header's grammar, its checks, and the conversion of elements.
//   in:    bytes of a .npy, hostile until proven otherwise
//   out:   an NpyArray whose shape agrees with the bytes present
//   never: believes a size; every product is checked, and the result must equal what is there
#include "data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/checked.h"

namespace plimsoll {
namespace {

struct TypeFacts {
  NpyType type;
  std::string_view code;  // descr without the byte order
  int64_t bytes;
  const char* name;
};
constexpr std::array kTypes = {
    TypeFacts{NpyType::F4, "f4", 4, "float32"}, TypeFacts{NpyType::F8, "f8", 8, "float64"},
    TypeFacts{NpyType::I1, "i1", 1, "int8"},    TypeFacts{NpyType::I2, "i2", 2, "int16"},
    TypeFacts{NpyType::I4, "i4", 4, "int32"},   TypeFacts{NpyType::I8, "i8", 8, "int64"},
    TypeFacts{NpyType::U1, "u1", 1, "uint8"},   TypeFacts{NpyType::U2, "u2", 2, "uint16"},
    TypeFacts{NpyType::U4, "u4", 4, "uint32"},  TypeFacts{NpyType::U8, "u8", 8, "uint64"},
    TypeFacts{NpyType::B1, "b1", 1, "bool"},
};

const TypeFacts& FactsOf(NpyType type) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.type == type) return facts;
  }
  CheckFailed(__FILE__, __LINE__, "type", "every type has a row in the table");
}

// Bytes of a damaged header must not reach a terminal as they are.
std::string Printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

Status Refuse(const NpyPlace& place, const std::string& what, std::string hint = "") {
  return Status::Data(fmt::format("{}: {}", place.name, what), std::move(hint));
}

Result<NpyType> TypeFromDescr(const NpyPlace& place, std::string_view descr) {
  if (descr.size() >= 2 && descr.substr(1, 1) == "O") {
    return Refuse(place, "descr is '|O', an array of Python objects; that is pickle, which can run code, and is never read",
                  "save a rectangular array of numbers: padded rows with `lengths`, or packed rows with `lengths`");
  }
  if (!descr.empty() && descr[0] == '>') {
    return Refuse(place, fmt::format("descr is '{}', big-endian numbers; wanted little-endian", Printable(descr)),
                  "save array.astype(array.dtype.newbyteorder('<'))");
  }
  if (descr.size() == 3 && (descr[0] == '<' || descr[0] == '|')) {
    for (const TypeFacts& facts : kTypes) {
      if (facts.code == descr.substr(1) && (descr[0] == '<' || facts.bytes == 1)) return facts.type;
    }
  }
  return Refuse(place, fmt::format("descr is '{}'; wanted one of f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1", Printable(descr)),
                "save array.astype('float32') for features, array.astype('int32') for ids");
}

// The header's fixed grammar: a dict of three known keys, nothing else.
class HeaderText {
 public:
  HeaderText(const NpyPlace& place, std::string_view text, int64_t text_offset)
      : place_(place), text_(text), text_offset_(text_offset) {}

  Result<NpyArray> Parse() {
    PLIMSOLL_RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      PLIMSOLL_RETURN_IF_ERROR(ParseEntry());
      if (Take(',')) continue;
      PLIMSOLL_RETURN_IF_ERROR(Expect('}'));
      break;
    }
    SkipSpace();
    if (at_ != text_.size()) return Wrong("the end of the header");
    if (!type_ || !fortran_ || !shape_) return Refuse(place_, "the header lacks descr, fortran_order or shape");
    if (*fortran_ && shape_->size() > 1) {
      return Refuse(place_, "the array is in Fortran order; wanted C order, the last dimension fastest",
                    "save np.ascontiguousarray(array)");
    }
    NpyArray array;
    array.type = *type_;
    array.shape = std::move(*shape_);
    return array;
  }

 private:
  Status ParseEntry() {
    const auto key = ParseString();
    if (!key.ok()) return key.status();
    PLIMSOLL_RETURN_IF_ERROR(Expect(':'));
    if (key.value() == "descr" && !type_) return ParseDescr();
    if (key.value() == "fortran_order" && !fortran_) return ParseFortran();
    if (key.value() == "shape" && !shape_) return ParseShape();
    return Refuse(place_, fmt::format("the header has an unknown or repeated key '{}'", Printable(key.value())));
  }

  Status ParseDescr() {
    SkipSpace();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
      return Refuse(place_, "the array has records with named fields; wanted plain numbers", "save one field, array['name']");
    }
    const auto descr = ParseString();
    if (!descr.ok()) return descr.status();
    const auto type = TypeFromDescr(place_, descr.value());
    if (!type.ok()) return type.status();
    type_ = type.value();
    return Status::Ok();
  }

  Status ParseFortran() {
    for (const bool value : {false, true}) {
      if (TakeWord(value ? "True" : "False")) {
        fortran_ = value;
        return Status::Ok();
      }
    }
    return Wrong("True or False");
  }

  Status ParseShape() {
    PLIMSOLL_RETURN_IF_ERROR(Expect('('));
    std::vector<int64_t> shape;
    while (!Take(')')) {
      SkipSpace();
      int64_t dimension = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dimension);
      if (error == std::errc::invalid_argument) return Wrong("a dimension");
      if (error != std::errc() || dimension < 0 || dimension > kNpyDimensionCap) {
        return Refuse(place_, fmt::format("dimension {} is '{}'; wanted 0 to 2^40", shape.size(),
                                          Printable({begin, static_cast<size_t>(end - begin)})));
      }
      at_ += static_cast<size_t>(end - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // a long of Python 2
      if (shape.size() == kNpyRankCap) return Refuse(place_, fmt::format("more than {} dimensions", kNpyRankCap));
      shape.push_back(dimension);
      if (Take(',')) continue;
      PLIMSOLL_RETURN_IF_ERROR(Expect(')'));
      break;
    }
    shape_ = std::move(shape);
    return Status::Ok();
  }

  Result<std::string_view> ParseString() {
    SkipSpace();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return Wrong("a quoted name");
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return Wrong("a closing quote");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) return Wrong("a name without backslashes");
    at_ = end + 1;
    return inside;
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  Status Expect(char c) { return Take(c) ? Status::Ok() : Wrong(fmt::format("'{}'", c)); }
  Status Wrong(std::string_view wanted) const {
    return Refuse(place_, fmt::format("damaged header at byte {}: wanted {}, found '{}'",
                                      text_offset_ + static_cast<int64_t>(at_), wanted, Printable(text_.substr(at_, 12))));
  }

  const NpyPlace& place_;
  std::string_view text_;
  int64_t text_offset_;
  size_t at_ = 0;
  std::optional<NpyType> type_;
  std::optional<bool> fortran_;
  std::optional<std::vector<int64_t>> shape_;
};

template <typename From>
float AsFloat(From value) {
  if constexpr (std::is_same_v<From, double>) {
    // Beyond float's range a conversion is undefined, not infinite. (NaN compares false and passes.)
    if (value > std::numeric_limits<float>::max()) return std::numeric_limits<float>::infinity();
    if (value < std::numeric_limits<float>::lowest()) return -std::numeric_limits<float>::infinity();
  }
  return static_cast<float>(value);
}

template <typename From>
bool AsIndex(From value, int32_t& out) {
  constexpr auto kMost = std::numeric_limits<int32_t>::max();
  if constexpr (std::is_floating_point_v<From>) {
    if (!(value >= 0 && static_cast<double>(value) <= kMost)) return false;
    out = static_cast<int32_t>(value);
    return static_cast<double>(out) == static_cast<double>(value);
  } else {
    if (value < From{0}) return false;
    if (static_cast<uint64_t>(value) > static_cast<uint64_t>(kMost)) return false;
    out = static_cast<int32_t>(value);
    return true;
  }
}

// Calls use(From{}) with the C++ type of the elements; bool is stored as a byte, 0 or 1.
template <typename Use>
auto WithType(NpyType type, Use use) {
  switch (type) {
    case NpyType::F4:
      return use(float{});
    case NpyType::F8:
      return use(double{});
    case NpyType::I1:
      return use(int8_t{});
    case NpyType::I2:
      return use(int16_t{});
    case NpyType::I4:
      return use(int32_t{});
    case NpyType::I8:
      return use(int64_t{});
    case NpyType::U2:
      return use(uint16_t{});
    case NpyType::U4:
      return use(uint32_t{});
    case NpyType::U8:
      return use(uint64_t{});
    case NpyType::U1:
    case NpyType::B1:
      break;
  }
  return use(uint8_t{});
}

constexpr int64_t kPieceBytes = 16 * 1024;  // on the stack

// Reads elements piece by piece: each(place in the run, pointer to From, elements) returns false to stop.
template <typename From, typename Each>
Status ReadPieces(const NpyArray& array, int64_t first, int64_t count, Each each) {
  std::array<From, kPieceBytes / sizeof(From)> piece;
  constexpr auto kMost = static_cast<int64_t>(piece.size());
  constexpr auto kSize = static_cast<int64_t>(sizeof(From));
  for (int64_t done = 0; done < count; done += kMost) {
    const int64_t now = std::min(kMost, count - done);
    PLIMSOLL_RETURN_IF_ERROR(array.file->ReadAt(array.offset + (first + done) * kSize, now * kSize, piece.data()));
    if (!each(done, piece.data(), now)) break;
  }
  return Status::Ok();
}

void CheckRun(const NpyArray& array, int64_t first, int64_t count) {
  PLIMSOLL_CHECK(first >= 0 && count >= 0 && first <= array.elements && count <= array.elements - first,
                 "a run of elements lies inside its array");
}

}  // namespace

int64_t NpyTypeBytes(NpyType type) { return FactsOf(type).bytes; }
const char* NpyTypeName(NpyType type) { return FactsOf(type).name; }

Result<NpyArray> ReadNpyHeader(const NpyPlace& place) {
  std::array<unsigned char, 12> start{};
  if (place.bytes < 10) return Refuse(place, fmt::format("has {} bytes, fewer than any .npy", place.bytes));
  PLIMSOLL_RETURN_IF_ERROR(place.file->ReadAt(place.begin, 10, start.data()));
  if (std::memcmp(start.data(), kNpyMagic.data(), kNpyMagic.size()) != 0) {
    return Refuse(place, "is not a .npy: its first bytes are not \\x93NUMPY");
  }
  const int version = start[6];
  if (version < 1 || version > 3) return Refuse(place, fmt::format("has .npy version {}; versions 1 to 3 are read", version));
  const int64_t prefix = version == 1 ? 10 : 12;
  if (place.bytes < prefix) return Refuse(place, fmt::format("has {} bytes, fewer than any .npy", place.bytes));
  int64_t header_bytes = start[8] | start[9] << 8;
  if (version > 1) {
    PLIMSOLL_RETURN_IF_ERROR(place.file->ReadAt(place.begin + 10, 2, start.data() + 10));
    header_bytes |= static_cast<int64_t>(start[10]) << 16 | static_cast<int64_t>(start[11]) << 24;
  }
  const int64_t remaining = place.bytes - prefix;
  if (header_bytes > remaining || header_bytes > kNpyHeaderCap) {
    return Refuse(place, fmt::format("header length at byte 8 is {}; {} bytes are left, and at most {} are read", header_bytes,
                                     remaining, kNpyHeaderCap));
  }
  std::string text(static_cast<size_t>(header_bytes), ' ');
  PLIMSOLL_RETURN_IF_ERROR(place.file->ReadAt(place.begin + prefix, header_bytes, text.data()));
  auto parsed = HeaderText(place, text, prefix).Parse();
  if (!parsed.ok()) return parsed.status();
  NpyArray& array = parsed.value();

  std::optional<int64_t> bytes = NpyTypeBytes(array.type);
  for (const int64_t dimension : array.shape) {
    bytes = CheckedProduct(*bytes, dimension);
    if (!bytes) return Refuse(place, fmt::format("the shape {} has more elements than any file", ShapeText(array.shape)));
  }
  const int64_t present = remaining - header_bytes;
  if (*bytes != present) {
    return Refuse(place,
                  fmt::format("the shape {} of {} needs {} bytes of data, {} are there", ShapeText(array.shape),
                              NpyTypeName(array.type), *bytes, present),
                  *bytes > present ? "the file was cut off: write or copy it again" : "");
  }
  array.file = place.file;
  array.name = place.name;
  array.offset = place.begin + prefix + header_bytes;
  array.elements = *bytes / NpyTypeBytes(array.type);
  return array;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

Status ReadAsFloat(const NpyArray& array, int64_t first, int64_t count, float* out) {
  CheckRun(array, first, count);
  if (array.type == NpyType::F4) return array.file->ReadAt(array.offset + first * 4, count * 4, out);
  return WithType(array.type, [&](auto element) {
    using From = decltype(element);
    return ReadPieces<From>(array, first, count, [&](int64_t place, const From* piece, int64_t elements) {
      std::transform(piece, piece + elements, out + place, AsFloat<From>);
      return true;
    });
  });
}

Result<int64_t> ReadAsIndex(const NpyArray& array, int64_t first, int64_t count, int32_t* out) {
  CheckRun(array, first, count);
  int64_t converted = 0;
  if (array.type == NpyType::I4) {
    PLIMSOLL_RETURN_IF_ERROR(array.file->ReadAt(array.offset + first * 4, count * 4, out));
    while (converted < count && out[converted] >= 0) ++converted;
    return converted;
  }
  const Status status = WithType(array.type, [&](auto element) {
    using From = decltype(element);
    return ReadPieces<From>(array, first, count, [&](int64_t place, const From* piece, int64_t elements) {
      for (int64_t i = 0; i < elements; ++i) {
        if (!AsIndex(piece[i], out[place + i])) return false;
        ++converted;
      }
      return true;
    });
  });
  if (!status.ok()) return status;
  return converted;
}

std::string ElementText(const NpyArray& array, int64_t element) {
  std::string text = "unreadable";
  const Status status = WithType(array.type, [&](auto value) {
    using From = decltype(value);
    return ReadPieces<From>(array, element, 1, [&](int64_t, const From* piece, int64_t) {
      text = fmt::format("{}", *piece);
      return true;
    });
  });
  return status.ok() ? text : "unreadable";
}

}  // namespace plimsoll
