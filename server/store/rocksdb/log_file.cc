// Reads RocksDB's write-ahead log, to tell a damaged log from one that a crash cut short.
//
// A log has blocks of 32 KiB. A record has CRC-32C (masked, of type and payload), length (two
// bytes), type and payload, all little-endian, and crosses no block. Zeros fill the rest.
//
// Source     https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/text.h"
#include "server/store/rocksdb/database_files.h"

namespace coppice::storage {
namespace {

constexpr size_t kBlock = 32768;
constexpr size_t kHeader = 7;
constexpr uint8_t kLastType = 4;  // full, first, middle, last; ours have no other types

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    table[byte] = crc;
  }
  return table;
}

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeTable();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF] ^ (crc >> 8);
  }
  return crc ^ 0xFFFFFFFFu;
}

uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; }

uint32_t ByteAt(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

size_t LengthAt(std::string_view block, size_t at) {
  return ByteAt(block, at + 4) | ByteAt(block, at + 5) << 8;
}

// Whether a record of `length` bytes at `at` matches its checksum.
bool IsSound(std::string_view block, size_t at, size_t length) {
  const uint32_t stored = ByteAt(block, at) | ByteAt(block, at + 1) << 8 |
                          ByteAt(block, at + 2) << 16 | ByteAt(block, at + 3) << 24;
  return Masked(Crc32c(block.substr(at + 6, 1 + length))) == stored;
}

bool IsZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

// Whether a sound record begins anywhere in `block` after `at`, or the record at `at` is sound if
// its length reaches to the end.
bool SoundFollows(std::string_view block, size_t at) {
  if (block.size() - at > kHeader && IsSound(block, at, block.size() - at - kHeader)) return true;
  for (size_t next = at + 1; next + kHeader <= block.size(); ++next) {
    const uint32_t type = ByteAt(block, next + 6);
    const size_t length = LengthAt(block, next);
    if (type == 0 || type > kLastType || next + kHeader + length > block.size()) continue;
    if (IsSound(block, next, length)) return true;
  }
  return false;
}

// Returns what is wrong with the records in a block; `is_last` if the file ends in or with it.
std::string DamageOfBlock(std::string_view block, size_t offset, bool is_last) {
  size_t at = 0;
  while (at + kHeader <= block.size()) {
    const size_t length = LengthAt(block, at);
    const auto here = [&](std::string_view what) {
      return StrCat("the record at byte ", offset + at, " ", what);
    };
    if (at + kHeader + length > block.size()) {
      if (is_last && !SoundFollows(block, at)) return "";  // a torn record was never acknowledged
      return here("is longer than what is left, and not the last");
    }
    if (ByteAt(block, at + 6) == 0 && length == 0) {
      return IsZero(block.substr(at)) ? "" : here("is empty, and not the last");
    }
    if (!IsSound(block, at, length)) return here("does not have its checksum");
    at += kHeader + length;
  }
  return "";
}

}  // namespace

std::string DamageOfLog(std::string_view bytes) {
  for (size_t offset = 0; offset < bytes.size(); offset += kBlock) {
    const bool is_last = bytes.size() - offset <= kBlock;
    std::string damage = DamageOfBlock(bytes.substr(offset, kBlock), offset, is_last);
    if (!damage.empty()) return damage;
  }
  return "";
}

}  // namespace coppice::storage
