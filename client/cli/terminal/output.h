// Prints results: one JSON object per line for scripts, aligned text for people.
//
// stdout carries results only. Notes and progress go to stderr, progress only to a terminal.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_OUTPUT_H_
#define COPPICE_CLIENT_CLI_TERMINAL_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "nlohmann/json.hpp"

namespace coppice::cli {

using Json = nlohmann::ordered_json;

// One line. Infinite and undefined numbers become null, bytes that are not UTF-8 become U+FFFD.
std::string JsonLine(const Json& object);

// "name  value" lines; a nested object is one line of "name value" pairs. Numbers have three
// significant digits; costs in privacy have all of them.
std::string AsText(const Json& object);
// A table: one line per row, under the names of the first row's members. If it is wider than
// `terminal` columns, each row becomes a block of "name  value" lines instead: nothing is cut. 0:
// any width is allowed.
std::string AsTable(absl::Span<const Json> rows, size_t terminal = 0);

// Columns of the terminal (COLUMNS, or what the terminal reports); 0 if `descriptor` is not one.
size_t TerminalWidth(int descriptor);

// Prints to stdout, as JSON or for people.
void PrintObject(const Json& object, bool json);
void PrintRows(absl::Span<const Json> rows, bool json);

// Prints row after row, for results that are not held in memory: columns are as wide as the widest
// cell so far, decided a thousand rows at a time.
class RowPrinter {
 public:
  explicit RowPrinter(bool json) : json_(json) {}
  ~RowPrinter() { Flush(); }
  RowPrinter(const RowPrinter&) = delete;
  RowPrinter& operator=(const RowPrinter&) = delete;

  void Print(Json row);
  void Flush();

 private:
  const bool json_;
  bool has_header_ = false;
  std::vector<Json> waiting_;
  std::vector<size_t> widths_;
};

// Writes to a file, completely or not at all, or to stdout if `path` is "-". AlreadyExists, saying
// what to do, if the file exists and `force` is not set.
Status WriteResult(const std::string& path, std::string_view bytes, bool force);
// The same; only the owner can read the file.
Status WriteSecretResult(const std::string& path, std::string_view bytes, bool force);

// Prints lines for people to stdout.
void PrintText(std::string_view lines);

// Prints a line for people on stderr. As everywhere here, foreign text cannot control the terminal.
void Note(std::string_view text);

// A line on stderr that is rewritten in place, and ended by the destructor. Does nothing unless
// stderr is a terminal.
class UpdatingLine {
 public:
  UpdatingLine();
  ~UpdatingLine();
  UpdatingLine(const UpdatingLine&) = delete;
  UpdatingLine& operator=(const UpdatingLine&) = delete;

  void Show(std::string_view text);

 private:
  bool visible_;
  bool shown_ = false;
};

// Shows "reading FILE, 120 MB" in such a line, if the file is so large that reading takes a while.
class ReadingNote {
 public:
  explicit ReadingNote(const std::string& path);

 private:
  UpdatingLine line_;
};

// Shows "label 1200 of 45000" in such a line, or "label 1200" if the total is 0.
class Progress {
 public:
  Progress(std::string label, uint64_t total);

  void Show(uint64_t done);

 private:
  std::string label_;
  uint64_t total_;
  UpdatingLine line_;
};

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_OUTPUT_H_
