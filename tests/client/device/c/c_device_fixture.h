// A device in C with a journal of its own, which a test opens, lets visit, and asks.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_C_C_DEVICE_FIXTURE_H_
#define COPPICE_TESTS_CLIENT_DEVICE_C_C_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "tests/client/device/c/scripted_curator.h"
#include "tests/support/temp_dir.h"

namespace coppice::testing {

class CDeviceFixture : public ::testing::Test {
 protected:
  explicit CDeviceFixture(int64_t now = 5000) : now_(now) {
    coppice_device_options_init(&options_);
    options_.journal_path = path_.c_str();
    options_.curator_key = key_.data();
    options_.clock = [](void* clock) { return *static_cast<int64_t*>(clock); };
    options_.clock_context = &now_;
    coppice_visit_options_init(&visit_options_);
    visit_options_.study = "sample";
    visit_options_.context = this;
    visit_options_.review = [](void* self, const coppice_terms* terms) {
      auto* test = static_cast<CDeviceFixture*>(self);
      test->asked_->push_back("review");
      test->reviewed_ = coppice_terms_study(terms);
      return test->agrees_;
    };
    visit_options_.read_row = [](void* self, const coppice_terms* terms, coppice_row* row) {
      auto* test = static_cast<CDeviceFixture*>(self);
      test->asked_->push_back("read");
      test->fill_(terms, row);
    };
  }
  ~CDeviceFixture() override { Close(); }

  void Close() {
    coppice_device_close(device_);
    device_ = nullptr;
  }
  // The same device after a restart.
  int32_t Open() {
    Close();
    return coppice_device_open(&options_, &device_, &error_);
  }
  void RemoveJournal() {
    Close();
    std::remove(path_.c_str());
  }
  // One visit from its beginning to its end; what taking the first response said.
  template <typename Services>
  coppice_error VisitAt(Services& services) {
    coppice_visit* visit = nullptr;
    if (coppice_visit_open(device_, &visit_options_, &visit, &error_) != COPPICE_OK) return error_;
    const coppice_error first = Carry(visit, services);
    outcome_ = OutcomeOf(visit);
    coppice_visit_close(visit);
    return first;
  }
  static coppice_outcome OutcomeOf(coppice_visit* visit) {
    auto outcome = Sized<coppice_outcome>();
    EXPECT_EQ(coppice_visit_get_outcome(visit, &outcome), COPPICE_OK);
    return outcome;
  }
  coppice_device_state State() {
    auto state = Sized<coppice_device_state>();
    EXPECT_EQ(coppice_device_get_state(device_, &state, &error_), COPPICE_OK) << error_.text;
    return state;
  }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/journal";
  const PublicKey key_ = FakeKey(1).public_key();
  int64_t now_;
  coppice_device_options options_;
  coppice_visit_options visit_options_;
  coppice_device* device_ = nullptr;
  coppice_error error_{};
  coppice_outcome outcome_{};
  std::string reviewed_;  // the study of the last review
  int32_t agrees_ = 1;    // what a review decides
  std::function<void(const coppice_terms*, coppice_row*)> fill_ = [](const coppice_terms*,
                                                                     coppice_row* row) {
    coppice_row_set_number(row, "x", 3);
    coppice_row_set_text(row, "y", "yes", 3);
  };
  // Where the callbacks note that they were asked.
  std::vector<std::string> own_notes_;
  std::vector<std::string>* asked_ = &own_notes_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_C_C_DEVICE_FIXTURE_H_
