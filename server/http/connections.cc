#include <utility>

#include "server/http/connection.h"

namespace coppice::http {

bool Connections::Add(const std::shared_ptr<Connection>& connection) {
  std::shared_ptr<Connection> oldest;
  {
    const MutexLock lock(mutex_);
    if (all_.size() >= most_) {
      // A connection being destroyed removes itself.
      for (const std::weak_ptr<Connection>& waiting : waiting_) {
        if ((oldest = waiting.lock()) != nullptr) break;
      }
      if (oldest == nullptr) return false;
      oldest->place_.is_waiting = false;
      waiting_.erase(oldest->place_.waiting);
    }
    connection->place_.listed = all_.insert(all_.end(), connection);
    connection->place_.is_listed = true;
  }
  if (oldest != nullptr) oldest->Close();
  return true;
}

void Connections::Remove(Connection& connection) {
  EndWaiting(connection);
  const MutexLock lock(mutex_);
  if (std::exchange(connection.place_.is_listed, false)) all_.erase(connection.place_.listed);
}

void Connections::BeginWaiting(Connection& connection) {
  const MutexLock lock(mutex_);
  if (std::exchange(connection.place_.is_waiting, true)) return;
  connection.place_.waiting = waiting_.insert(waiting_.end(), connection.weak_from_this());
}

void Connections::EndWaiting(Connection& connection) {
  const MutexLock lock(mutex_);
  if (std::exchange(connection.place_.is_waiting, false)) {
    waiting_.erase(connection.place_.waiting);
  }
}

std::vector<std::shared_ptr<Connection>> Connections::All() const {
  std::vector<std::shared_ptr<Connection>> all;
  const MutexLock lock(mutex_);
  for (const std::weak_ptr<Connection>& listed : all_) {
    if (std::shared_ptr<Connection> connection = listed.lock())
      all.push_back(std::move(connection));
  }
  return all;
}

}  // namespace coppice::http
