// One value written to a store.

#ifndef COPPICE_TESTS_SERVER_STORE_PUT_H_
#define COPPICE_TESTS_SERVER_STORE_PUT_H_

#include <string>

#include "common/base/status.h"
#include "server/store/store.h"

namespace coppice::testing {

inline Status Put(storage::Store& store, const std::string& key, const std::string& value) {
  storage::StoreBatch batch;
  batch.Put(key, value);
  return store.Apply(batch);
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_STORE_PUT_H_
