// Bytes of one length, whatever they hold: where lengths are seen, they must say nothing.
//
// An envelope is the length of its content in four bytes, big-endian, the content, and zeros.

#ifndef COPPICE_COMMON_TERMS_ENVELOPE_H_
#define COPPICE_COMMON_TERMS_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coppice {

inline constexpr size_t kEnvelopeHeadBytes = 4;

// The four bytes before a content of that length, which must be below 2^32.
inline std::string EnvelopeHead(size_t content_bytes) {
  std::string head;
  for (int shift = 24; shift >= 0; shift -= 8) {
    head.push_back(static_cast<char>(content_bytes >> shift & 0xff));
  }
  return head;
}

// An envelope of `bytes` bytes, into which the content must fit.
inline std::string MakeEnvelope(std::string_view content, size_t bytes) {
  std::string envelope;
  envelope.reserve(bytes);
  envelope.append(EnvelopeHead(content.size()));
  envelope.append(content);
  envelope.resize(bytes, '\0');
  return envelope;
}

// The content; nothing if MakeEnvelope() would not make these bytes.
inline std::optional<std::string_view> OpenEnvelope(std::string_view envelope) {
  if (envelope.size() < kEnvelopeHeadBytes) return std::nullopt;
  size_t size = 0;
  for (size_t i = 0; i < kEnvelopeHeadBytes; ++i) {
    size = size << 8 | static_cast<uint8_t>(envelope[i]);
  }
  envelope.remove_prefix(kEnvelopeHeadBytes);
  if (size > envelope.size()) return std::nullopt;
  if (envelope.find_first_not_of('\0', size) != std::string_view::npos) return std::nullopt;
  return envelope.substr(0, size);
}

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_ENVELOPE_H_
