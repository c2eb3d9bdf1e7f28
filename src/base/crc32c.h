// crc32c: the checksum of file blocks (Castagnoli's polynomial, as in iSCSI and TensorBoard's files).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll {

// Of the bytes behind those that gave `before`; 0: there were none.
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace plimsoll
