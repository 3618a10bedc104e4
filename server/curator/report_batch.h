// Reports as they were received, in the order they came: all of a batch in one block of memory, so
// that a report costs no allocation of its own.

#ifndef COPPICE_SERVER_CURATOR_REPORT_BATCH_H_
#define COPPICE_SERVER_CURATOR_REPORT_BATCH_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace coppice {

class ReportBatch {
 public:
  void Reserve(size_t reports, size_t bytes) {
    places_.reserve(reports);
    bytes_.reserve(bytes);
  }
  void Add(absl::string_view ticket, absl::string_view payload) {
    places_.push_back({.ticket = bytes_.size(), .payload = bytes_.size() + ticket.size()});
    bytes_.append(ticket.data(), ticket.size()).append(payload.data(), payload.size());
  }

  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  absl::string_view ticket(size_t i) const {
    return Between(places_[i].ticket, places_[i].payload);
  }
  absl::string_view payload(size_t i) const {
    return Between(places_[i].payload,
                   i + 1 < places_.size() ? places_[i + 1].ticket : bytes_.size());
  }

  size_t MemoryBytes() const { return bytes_.capacity() + places_.capacity() * sizeof(Place); }

 private:
  struct Place {
    size_t ticket;   // where it begins, and
    size_t payload;  // ends
  };

  absl::string_view Between(size_t begin, size_t end) const {
    return absl::string_view(bytes_).substr(begin, end - begin);
  }

  std::string bytes_;
  std::vector<Place> places_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_REPORT_BATCH_H_
