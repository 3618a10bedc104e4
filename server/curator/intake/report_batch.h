// The reports of one Submit().

#ifndef COPPICE_SERVER_CURATOR_INTAKE_REPORT_BATCH_H_
#define COPPICE_SERVER_CURATOR_INTAKE_REPORT_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coppice::curator {

// Reports as received, in their order. All reports of a batch share one block of memory, so that a
// report costs no allocation of its own.
class ReportBatch {
 public:
  // A value's position in the block.
  struct Slice {
    uint32_t begin = 0;
    uint32_t size = 0;
  };

  ReportBatch() = default;
  // Takes over a block that already holds reports, such as a received message. AddSlices() says
  // where they are.
  explicit ReportBatch(std::string block) : bytes_(std::move(block)) {}

  void Reserve(size_t reports, size_t bytes) {
    reports_.reserve(reports);
    bytes_.reserve(bytes);
  }
  void Add(std::string_view ticket, std::string_view payload, std::string_view public_values = "") {
    reports_.push_back({.ticket = Append(ticket),
                        .payload = Append(payload),
                        .public_values = Append(public_values)});
  }
  // All slices must lie in the block.
  void AddSlices(Slice ticket, Slice payload, Slice public_values) {
    reports_.push_back({.ticket = ticket, .payload = payload, .public_values = public_values});
  }

  std::string_view block() const { return bytes_; }
  size_t size() const { return reports_.size(); }
  bool empty() const { return reports_.empty(); }

  // The length that the sealed message of these reports was padded to, if they came in one.
  std::optional<uint64_t> message_bytes() const { return message_bytes_; }
  void set_message_bytes(uint64_t bytes) { message_bytes_ = bytes; }

  std::string_view ticket(size_t i) const { return At(reports_[i].ticket); }
  std::string_view payload(size_t i) const { return At(reports_[i].payload); }
  // Empty where no features are public.
  std::string_view public_values(size_t i) const { return At(reports_[i].public_values); }

  size_t MemoryBytes() const { return bytes_.capacity() + reports_.capacity() * sizeof(Report); }

 private:
  struct Report {
    Slice ticket;
    Slice payload;
    Slice public_values;
  };

  Slice Append(std::string_view value) {
    const Slice slice{.begin = static_cast<uint32_t>(bytes_.size()),
                      .size = static_cast<uint32_t>(value.size())};
    bytes_.append(value.data(), value.size());
    return slice;
  }
  std::string_view At(Slice slice) const { return {bytes_.data() + slice.begin, slice.size}; }

  std::string bytes_;  // below 4 GiB, as messages are
  std::vector<Report> reports_;
  std::optional<uint64_t> message_bytes_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INTAKE_REPORT_BATCH_H_
