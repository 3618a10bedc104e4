#include "tests/vectors/vectors.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"

namespace coppice::vectors {
namespace {

std::string BigEndian(uint64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>((number >> shift) & 0xff));
  }
  return bytes;
}

}  // namespace

std::string Render(const Json& header, const Lists& lists) {
  std::string text = "{";
  std::string_view separator = "\n";
  for (const auto& [key, value] : header.items()) {
    StrAppend(&text, separator, "  ", Json(key).dump(), ": ", value.dump());
    separator = ",\n";
  }
  for (const auto& [name, cases] : lists) {
    StrAppend(&text, separator, "  ", Json(name).dump(), ": [");
    std::string_view next = "\n";
    for (const Json& one : cases) {
      StrAppend(&text, next, "    ", one.dump());
      next = ",\n";
    }
    StrAppend(&text, "\n  ]");
  }
  return text + "\n}\n";
}

std::string CodeName(const Status& status) { return std::string(StatusCodeName(status.code())); }

Ticket NumberedTicket(uint64_t number) {
  const Sha256Digest digest = Sha256({BigEndian(number)});
  return *Ticket::FromBytes(std::string(digest.begin(), digest.end()));
}

FixedStream::FixedStream(std::string prefix, std::string seed)
    : pending_(std::move(prefix)),
      seed_(std::move(seed)),
      bytes_([this](unsigned char* bytes, int count) { return Fill(bytes, count); }) {}

int FixedStream::Fill(unsigned char* bytes, int count) {
  const auto wanted = static_cast<size_t>(count);
  while (pending_.size() < wanted) {
    const Sha256Digest block = Sha256({seed_, BigEndian(counter_++)});
    pending_.append(block.begin(), block.end());
  }
  std::copy_n(pending_.begin(), wanted, bytes);
  pending_.erase(0, wanted);
  return 1;
}

}  // namespace coppice::vectors
