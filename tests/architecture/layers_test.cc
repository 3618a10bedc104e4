// Checks every #include of the tree against cmake/layers.txt. (CMake checks links at configure
// time, but a header needs no link.)

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Room {
  int line = 0;  // in layers.txt
  std::string folder;
  std::set<std::string> needs;
  std::set<std::string> libraries;
};
using Rooms = std::map<std::string, Room>;

std::set<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

Rooms ReadRooms(const fs::path& file) {
  Rooms rooms;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string name, folder, needs, libraries;
    std::getline(fields, name, '|');
    std::getline(fields, folder, '|');
    std::getline(fields, needs, '|');
    std::getline(fields, libraries, '|');
    rooms[*Words(name).begin()] = {.line = static_cast<int>(rooms.size()),
                                   .folder = *Words(folder).begin(),
                                   .needs = Words(needs),
                                   .libraries = Words(libraries)};
  }
  return rooms;
}

// Returns the room with the longest folder that holds `path`; empty if there is none.
std::string RoomOf(const Rooms& rooms, const std::string& path) {
  std::string best;
  for (const auto& [name, room] : rooms) {
    if (path.rfind(room.folder + "/", 0) != 0) continue;
    if (best.empty() || rooms.at(best).folder.size() < room.folder.size()) best = name;
  }
  return best;
}

// Returns the outside library that a header belongs to, as layers.txt calls it; empty for the
// standard library and the operating system.
std::string LibraryOf(const std::string& header) {
  static const std::vector<std::pair<std::string, std::string>> kPrefixes = {
      {"absl/", "absl"},
      {"openssl/", "openssl"},
      {"google/protobuf", "protobuf"},
      {"grpcpp/", "grpc"},
      {"grpc/", "grpc"},
      {"rocksdb/", "rocksdb"},
      {"CLI/", "cli11"},
      {"boost/", "boost"},
      {"nlohmann/", "json"},
      {"csv.h", "csv"},
      {"zlib.h", "zlib"},
      {"Eigen/", "eigen"},
      {"lapacke.h", "lapack"},
      {"gtest/", "gtest"},
      {"prometheus/", "prometheus"},
      {"CivetServer.h", "prometheus"},
      {"civetweb.h", "prometheus"},
      {"pybind11/", "pybind11"},
      {"libpq-fe.h", "postgresql"},
  };
  for (const auto& [prefix, library] : kPrefixes) {
    if (header.rfind(prefix, 0) == 0) return library;
  }
  return "";
}

// The rooms and the libraries that a file needs to include `header`.
struct Need {
  std::string room;
  std::set<std::string> libraries;
};

Need NeedOf(const Rooms& rooms, const std::string& header) {
  if (header.rfind("coppice/v1/", 0) == 0 || header.rfind("grpc/health/v1/", 0) == 0) {
    const bool services = header.find(".grpc.pb.h") != std::string::npos;
    return {.room = "proto",
            .libraries = services ? std::set<std::string>{"protobuf", "grpc"}
                                  : std::set<std::string>{"protobuf"}};
  }
  const std::string room = RoomOf(rooms, header);
  if (!room.empty()) return {.room = room, .libraries = {}};
  const std::string library = LibraryOf(header);
  return {.room = "", .libraries = library.empty() ? std::set<std::string>{} : std::set{library}};
}

// Says what is wrong with `file` including `header`; empty if nothing.
std::string Violation(const Rooms& rooms, const std::string& file, const std::string& header) {
  const std::string name = RoomOf(rooms, file);
  if (name.empty()) return file + " belongs to no room";
  const Room& room = rooms.at(name);
  const Need need = NeedOf(rooms, header);
  const std::string refused = file + " (" + name + ") may not use " + header;
  if (!need.room.empty() && need.room != name && room.needs.count(need.room) == 0) {
    return refused + " (" + need.room + ")";
  }
  for (const std::string& library : need.libraries) {
    if (room.libraries.count(library) == 0) return refused + " (" + library + ")";
  }
  return "";
}

std::vector<std::string> IncludesOf(const fs::path& file) {
  static const std::regex kInclude(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
  std::vector<std::string> headers;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) headers.push_back(match[1]);
  }
  return headers;
}

std::vector<std::string> SourceFiles(const fs::path& root) {
  std::vector<std::string> files;
  for (const char* folder : {"common", "client", "server"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension == ".h" || extension == ".cc") {
        files.push_back(fs::relative(entry.path(), root));
      }
    }
  }
  return files;
}

class LayersTest : public ::testing::Test {
 protected:
  const fs::path root_ = std::getenv("COPPICE_SOURCE_DIR");
  const Rooms rooms_ = ReadRooms(root_ / "cmake/layers.txt");
};

TEST_F(LayersTest, EveryIncludeIsAllowed) {
  const std::vector<std::string> files = SourceFiles(root_);
  ASSERT_GT(files.size(), 50u);
  for (const std::string& file : files) {
    for (const std::string& header : IncludesOf(root_ / file)) {
      EXPECT_EQ(Violation(rooms_, file, header), "");
    }
  }
}

// A line lists what its room needs, not what it might need.
TEST_F(LayersTest, NothingIsAllowedThatIsNotNeeded) {
  std::map<std::string, std::set<std::string>> needed;
  std::map<std::string, std::set<std::string>> included;
  for (const std::string& file : SourceFiles(root_)) {
    const std::string room = RoomOf(rooms_, file);
    for (const std::string& header : IncludesOf(root_ / file)) {
      const Need need = NeedOf(rooms_, header);
      if (!need.room.empty() && need.room != room) needed[room].insert(need.room);
      included[room].insert(need.libraries.begin(), need.libraries.end());
    }
  }
  for (const auto& [name, room] : rooms_) {
    EXPECT_EQ(room.needs, needed[name]) << name;
    EXPECT_EQ(room.libraries, included[name]) << name;
  }
}

// This order rules out circles.
TEST_F(LayersTest, ARoomNeedsOnlyRoomsAboveItsLine) {
  for (const auto& [name, room] : rooms_) {
    for (const std::string& needed : room.needs) {
      ASSERT_EQ(rooms_.count(needed), 1u) << name << " needs " << needed;
      EXPECT_LT(rooms_.at(needed).line, room.line) << name << " needs " << needed;
    }
  }
}

// Folders inside a room have no lines, but an order all the same.
TEST_F(LayersTest, FoldersOfARoomDoNotNeedEachOtherInACircle) {
  std::map<std::string, std::set<std::string>> needed;
  for (const std::string& file : SourceFiles(root_)) {
    const std::string folder = fs::path(file).parent_path();
    for (const std::string& header : IncludesOf(root_ / file)) {
      const std::string other = fs::path(header).parent_path();
      const std::string room = RoomOf(rooms_, header);
      if (!room.empty() && other != folder && room == RoomOf(rooms_, file)) {
        needed[folder].insert(other);
      }
    }
  }
  for (const auto& [folder, direct] : needed) {
    std::set<std::string> reached;
    std::vector<std::string> next(direct.begin(), direct.end());
    while (!next.empty()) {
      const std::string other = next.back();
      next.pop_back();
      if (reached.insert(other).second) {
        const auto found = needed.find(other);
        if (found != needed.end())
          next.insert(next.end(), found->second.begin(), found->second.end());
      }
    }
    EXPECT_EQ(reached.count(folder), 0u) << folder;
  }
}

// Repeats the rules that matter most, so that an edit of the table cannot quietly drop them.
TEST_F(LayersTest, TheTableKeepsThePromises) {
  EXPECT_EQ(rooms_.at("privacy").needs, (std::set<std::string>{"base", "crypto"}));
  EXPECT_EQ(rooms_.at("privacy").libraries, std::set<std::string>{"absl"});
  EXPECT_EQ(rooms_.at("crypto").libraries, std::set<std::string>{"openssl"});
  for (const char* room : {"ldp", "schema", "model", "terms", "wire", "device/session"}) {
    EXPECT_EQ(rooms_.at(room).libraries.count("grpc"), 0u) << room;
    EXPECT_EQ(rooms_.at(room).libraries.count("protobuf"), 0u) << room;
    EXPECT_EQ(rooms_.at(room).needs.count("table"), 0u) << room;
  }
  for (const auto& [name, room] : rooms_) {
    const bool may_call = name == "device/grpc" || name.rfind("cli", 0) == 0 ||
                          name == "serving/grpc" || name == "process" || name == "daemon" ||
                          name == "relay";
    EXPECT_TRUE(may_call || room.libraries.count("grpc") == 0) << name;
    // A trainer is nothing but arithmetic; curves of what trainers reach are written as JSON.
    if (name.rfind("trainers", 0) == 0 && name != "trainers/curves") {
      for (const std::string& library : room.libraries) EXPECT_EQ(library, "absl") << name;
    }
    // Who counts reports of devices has nothing of those who train on tables.
    if (name.rfind("curator", 0) == 0) {
      for (const std::string& needed : room.needs) {
        EXPECT_NE(needed.rfind("trainers", 0), 0u) << name;
        EXPECT_NE(needed.rfind("datasets", 0), 0u) << name;
      }
    }
  }
  // Only those who open a store know which database is under it.
  EXPECT_EQ(rooms_.at("store").needs, std::set<std::string>{"base"});
}

// A relay is a program of another party than the curator: it contains no part of the curator, and
// nothing that could make or read an answer.
TEST_F(LayersTest, ARelayHasNothingOfTheCurator) {
  // What both daemons share, which knows no study, and the relay's own.
  const std::set<std::string> shared = {"process", "http", "http/messages", "relay/epoch"};
  for (const auto& name : {"relay", "relay/epoch"}) {
    const Room& room = rooms_.at(name);
    for (const std::string& needed : room.needs) {
      const std::string& folder = rooms_.at(needed).folder;
      EXPECT_TRUE(shared.count(needed) > 0 || folder.rfind("server/", 0) != 0) << needed;
      EXPECT_NE(needed.rfind("ldp", 0), 0u) << name;
      EXPECT_NE(needed, "table") << name;
    }
  }
}

TEST_F(LayersTest, ViolationsAreFound) {
  EXPECT_NE(Violation(rooms_, "common/privacy/x.cc", "common/model/tree.h"), "");
  EXPECT_NE(Violation(rooms_, "client/device/privatizer.cc", "server/curator/studies/studies.h"),
            "");
  EXPECT_NE(Violation(rooms_, "client/device/privatizer.cc", "grpcpp/grpcpp.h"), "");
  EXPECT_NE(Violation(rooms_, "client/device/journal.cc", "coppice/v1/report.pb.h"), "");
  EXPECT_NE(Violation(rooms_, "server/curator/x.cc", "coppice/v1/report.grpc.pb.h"), "");
  EXPECT_NE(Violation(rooms_, "elsewhere/x.cc", "absl/status/status.h"), "");
  EXPECT_EQ(Violation(rooms_, "client/device/grpc/grpc_carrier.cc", "grpcpp/grpcpp.h"), "");
}

// Private randomness has one door, and no floating-point distributions. Public randomness (ties,
// splits, generated rows) may use a seeded engine only in the files named here.
TEST_F(LayersTest, RandomSourcesStayWhereTheyBelong) {
  static const std::regex kPrivate(R"re(RAND_(priv_)?bytes)re");
  static const std::regex kPublic(
      R"re(std::(mt19937|minstd|random_device|\w+_distribution)|absl/random)re");
  for (const std::string& file : SourceFiles(root_)) {
    std::ifstream stream(root_ / file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const bool calls_generator = std::regex_search(text, kPrivate);
    const bool may_call = file.rfind("common/crypto/", 0) == 0 ||
                          file == "common/privacy/openssl_random.h" ||  // names it
                          file == "common/coins/coins.cc" ||            // seeds of coins
                          file.rfind("server/curator/", 0) == 0 ||      // ids and keys
                          file.rfind("server/store/models/ids.", 0) == 0 ||
                          file.rfind("server/serving/access/bearer_token", 0) == 0 ||  // secrets
                          file == "server/store/postgres/batches.cc" ||                // ids
                          file == "server/store/postgres/ownership.cc" ||              // epochs
                          file == "server/store/vault/sealing.cc" ||  // keys and nonces
                          file.rfind("server/store/audit_log/audit_record.", 0) == 0 ||  // the salt
                          file == "server/serving/gate/call_record.cc" ||  // request ids
                          file == "server/relay/epoch/deal.cc" ||          // deals and claims
                          file.rfind("client/device/grpc", 0) == 0;        // jitter
    EXPECT_TRUE(may_call || !calls_generator) << file;
    const bool may_seed =
        file.rfind("common/base/public_random", 0) == 0 || file.rfind("server/lab/", 0) == 0;
    EXPECT_TRUE(may_seed || !std::regex_search(text, kPublic)) << file;
  }
}

// A program's flags are all in its --help, which one_noise_source.sh reads: CLI11 would hide the
// flags of the group "".
TEST_F(LayersTest, NoFlagIsHidden) {
  static const std::regex kHidden(R"re([gG]roup\(\s*("{2}|std::string\(\)|\{\}))re");
  for (const std::string& file : SourceFiles(root_)) {
    std::ifstream stream(root_ / file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_FALSE(std::regex_search(text, kHidden)) << file;
  }
  EXPECT_TRUE(std::regex_search("->group(\"\")", kHidden));
  EXPECT_TRUE(std::regex_search(".InGroup(\"\")", kHidden));
}

}  // namespace
